// The local folder in which a long job keeps what it needs to go on after a kill.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace smelt {

class WorkFolder {
 public:
  // `job` describes everything that decides the result. A folder that an equal job left is taken
  // up; another one's is emptied. UsageError when another process holds it, or when it is not a
  // work folder.
  WorkFolder(std::string path, const nlohmann::ordered_json& job);
  // Removes the folder unless it is to be kept.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;
  // Whether the folder stays, for the next run to go on.
  void keep(bool keep) { keep_ = keep; }

 private:
  void lock();
  void clear();

  std::string path_;
  int descriptor_ = -1;  // of the lock
  bool keep_ = false;
};

}  // namespace smelt
