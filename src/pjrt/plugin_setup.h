// What `smelt setup` does: the wheels of a device's plugin, fetched and unpacked by pip into a
// folder of the user's. The folder appears when all of it is there, or not at all.
#pragma once

#include <string>
#include <vector>

#include "pjrt/plugin_lock.h"

namespace smelt {

class PluginSetup {
 public:
  PluginSetup(std::vector<Wheel> wheels, std::string folder);

  const std::vector<Wheel>& wheels() const { return wheels_; }
  const std::string& folder() const { return folder_; }
  std::int64_t download_bytes() const;
  std::int64_t unpacked_bytes() const;

  // Whether the folder holds these wheels, of these hashes.
  bool installed() const;

  // Works in "<folder>.partial", where wheels that have arrived wait for the next try. UsageError
  // when there is no Python that can make environments, when the folder holds something else, or
  // when another process is at it; SystemError when the disk is too small or pip fails. Those of
  // other versions are replaced.
  void install() const;

 private:
  std::string partial(std::string_view name) const;  // a path in the work folder
  std::string requirements() const;
  void refuse_foreign_folder() const;
  void require_space() const;
  void make_python() const;
  void download(const Wheel& wheel) const;
  void unpack() const;
  void publish() const;
  int pip(std::vector<std::string> arguments) const;

  std::vector<Wheel> wheels_;
  std::string folder_;
};

}  // namespace smelt
