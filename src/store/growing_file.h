// A log that others read while it grows. On a disk what is added is at its end at once; an object
// store has no adding, there the object is written anew as a whole each time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/descriptor.h"

namespace smelt {

class GrowingFile {
 public:
  // A new file, whose folder is made; UsageError where there is one.
  explicit GrowingFile(std::string path);
  // One that begins with these bytes; an earlier file makes way for it as a whole.
  GrowingFile(std::string path, std::string_view begin);
  GrowingFile(const GrowingFile&) = delete;
  // What an object lacks is written; a failure is logged.
  ~GrowingFile();

  // Of what is added within so many seconds an object is written once.
  void write_objects_every(double seconds) { object_seconds_ = seconds; }
  // SystemError on a full disk; the file may then end with a part of it.
  void add(std::string_view bytes);
  // What an object lacks is written now.
  void write_lacking() {
    if (lacks_) write_object();
  }
  const std::string& path() const { return path_; }

 private:
  void open(int flags);
  void write_object();

  std::string path_;
  Descriptor file_;
  std::string whole_;  // of an object
  double object_seconds_ = 0;
  std::optional<Clock::time_point> written_;  // when the object was last
  bool lacks_ = false;                        // the object, something that was added
};

}  // namespace smelt
