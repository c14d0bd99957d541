// Implements `smelt setup`: downloads the wheels of a device's plugin with pip and unpacks them
// into a folder of the user. The folder appears atomically.
#pragma once

#include <string>
#include <vector>

#include "pjrt/plugin_lock.h"

namespace smelt::pjrt {

// Installs wheels into a folder.
class PluginSetup {
 public:
  PluginSetup(std::vector<Wheel> wheels, std::string folder);

  const std::vector<Wheel>& wheels() const { return wheels_; }
  const std::string& folder() const { return folder_; }
  std::int64_t download_bytes() const;
  std::int64_t unpacked_bytes() const;

  // Returns whether the folder contains these wheels with these hashes.
  bool installed() const;

  // Installs the wheels and replaces other versions. Works in "<folder>.partial"; downloaded wheels
  // stay there for the next attempt. Throws UsageError if python3 cannot create virtual
  // environments, if the folder contains other files, or if another setup is running. Throws
  // SystemError if the disk is too small or pip fails.
  void install() const;

 private:
  std::string partial(std::string_view name) const;  // a path in the work folder
  std::string requirements() const;
  void check_folder_is_ours() const;
  void require_space() const;
  void make_python() const;
  void download(const Wheel& wheel) const;
  void unpack() const;
  void publish() const;
  int pip(std::vector<std::string> arguments) const;

  std::vector<Wheel> wheels_;
  std::string folder_;
};

}  // namespace smelt::pjrt
