// A log file that others may read while it grows. On a disk new bytes are appended at once; an
// object is rewritten by a separate thread (io/filesystem/growing_object.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/filesystem/descriptor.h"
#include "io/filesystem/growing_object.h"

namespace smelt::io {

class GrowingFile {
 public:
  // Creates a new file and its folder. Throws UsageError if the file exists.
  explicit GrowingFile(std::string path);
  // Creates a file with this content, which atomically replaces an existing one.
  GrowingFile(std::string path, std::string_view begin);
  GrowingFile(const GrowingFile&) = delete;

  // See GrowingObject::write_every().
  void write_objects_every(double seconds) {
    if (object_) object_->write_every(seconds);
  }
  // Appends bytes. Throws SystemError if the disk is full; the file may then end with a part of the
  // bytes. For an object, returns at once, and failures are only logged.
  void add(std::string_view bytes);
  // Writes all pending bytes of the current object and of the previous one (continue_in()) now, and
  // throws if that fails.
  void flush() {
    if (completing_) completing_->flush();
    if (object_) object_->flush();
  }
  // Returns the size of the object in bytes, or 0 for a local file. The whole object is held in
  // memory and rewritten each time.
  std::uint64_t object_bytes() const { return object_ ? object_->bytes() : 0; }
  // Starts a new object at `path` for everything that is added from now on. Another thread finishes
  // the previous object and retries if that fails. The next call of continue_in() and the
  // destructor wait for a last attempt.
  void continue_in(std::string path);
  const std::string& path() const { return path_; }

 private:
  void open(int flags);

  std::string path_;
  Descriptor file_;
  std::unique_ptr<GrowingObject> object_;      // used instead of file_ for an object
  std::unique_ptr<GrowingObject> completing_;  // the previous object
};

}  // namespace smelt::io
