// The local folder in which a long job keeps what it needs to go on after a kill. It is known by
// its lock, a file with a text of its own, so that nothing else is ever emptied or removed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/temporary_path.h"

namespace smelt {

class WorkFolder {
 public:
  // Takes the folder for this process; makes it, for this user alone, when it is not there. What an
  // earlier job left in it stays until begin(). UsageError when it holds something else, when it is
  // a link, somebody else's or open to all, and when another process holds it.
  explicit WorkFolder(std::string path);
  // Removes the folder unless it is to be kept, and the one above if it was made for it and is
  // empty.
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string file(std::string_view name) const;

  // The job that an earlier process began here.
  std::optional<OrderedJson> job() const;
  // Empties the folder for a job of this process.
  void begin(const OrderedJson& job);
  // Whether the folder stays, for the next run to go on: at first when an earlier job is in it.
  void keep(bool keep) { keep_ = keep; }
  // A signal that ends the process removes the folder, too: no other process would go on with it.
  void remove_at_signal() { temporary_.emplace(path_); }

 private:
  int open_folder();
  int open_lock(int folder) const;
  bool lock(int folder);
  bool is_empty() const;
  void clear();
  void remove();

  std::string path_;
  std::string made_parent_;  // which was not there before
  int descriptor_ = -1;      // of the lock
  bool keep_ = false;
  std::optional<TemporaryPath> temporary_;
};

// In the system's folder for temporary files: the folder whose job has this value of this field, or
// the name of a fresh one, which nobody can foresee.
std::string temporary_work_folder(std::string_view field, const OrderedJson& value);

}  // namespace smelt
