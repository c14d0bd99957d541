// A log that others read while it grows. On a disk what is added is at its end at once; an object
// store has no adding, there the object is written anew as a whole each time.
#pragma once

#include <string>
#include <string_view>

#include "store/descriptor.h"

namespace smelt {

class GrowingFile {
 public:
  // A new file, whose folder is made; UsageError where there is one.
  explicit GrowingFile(std::string path);
  // SystemError on a full disk; the file may then end with a part of it.
  void add(std::string_view bytes);
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor file_;
  std::string whole_;  // of an object
};

}  // namespace smelt
