// The local folder in which a long job stores what it needs to resume after an interruption. It is
// recognized by a lock file with a specific text, so that no other folder is ever emptied or
// removed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/temporary_path.h"

namespace smelt::data {

class WorkFolder {
 public:
  // Locks the folder for this process; creates it for this user only if it does not exist. Data of
  // an earlier job remains until begin(). Throws UsageError if the folder has other content, is a
  // link, belongs to another user or is accessible to others, or if another process holds the lock.
  explicit WorkFolder(std::string path);
  // Removes the folder unless keep() was set to true. Then also removes the parent folder if this
  // process created it and it is empty.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;

  // Returns the description of the job that an earlier process began in this folder.
  std::optional<OrderedJson> job() const;
  // Empties the folder for a new job.
  void begin(const OrderedJson& job);
  // Sets whether the folder is kept for a later run to resume from. Initially true if it has an
  // earlier job.
  void keep(bool keep) { keep_ = keep; }
  // Also removes the folder if a signal ends the process, because no other process would resume
  // from it.
  void remove_at_signal() { temporary_.emplace(path_); }

 private:
  int open_folder();
  int open_lock(int folder) const;
  bool lock(int folder);
  bool is_empty() const;
  void clear();
  void remove();

  std::string path_;
  std::string made_parent_;  // parent folder created by this process
  int descriptor_ = -1;      // of the lock file
  bool keep_ = false;
  std::optional<TemporaryPath> temporary_;
};

// Returns the path of the work folder in the system's temporary folder whose job() has `value` in
// `field`. Creates a folder with an unpredictable name if no work folder has that value.
std::string temporary_work_folder(std::string_view field, const OrderedJson& value);

}  // namespace smelt::data
