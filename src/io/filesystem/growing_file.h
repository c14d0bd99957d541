// A log that others read while it grows. On a disk what is added is at its end at once; on an
// object store a thread of its own writes it (io/filesystem/growing_object.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "io/filesystem/descriptor.h"
#include "io/filesystem/growing_object.h"

namespace smelt {

class GrowingFile {
 public:
  // A new file, whose folder is made; UsageError where there is one.
  explicit GrowingFile(std::string path);
  // One that begins with these bytes; an earlier file makes way for it as a whole.
  GrowingFile(std::string path, std::string_view begin);
  GrowingFile(const GrowingFile&) = delete;

  // As GrowingObject::write_every().
  void write_objects_every(double seconds) {
    if (object_) object_->write_every(seconds);
  }
  // SystemError on a full disk; the file may then end with a part of it. Nobody waits for an object
  // store, or hears of its failures but in the log.
  void add(std::string_view bytes);
  // What the object and the one before it lack is written now; throws why it cannot be.
  void flush() {
    if (completing_) completing_->flush();
    if (object_) object_->flush();
  }
  // The bytes of an object so far, which are held in memory and written anew each time; 0 for a
  // local file.
  std::uint64_t object_bytes() const { return object_ ? object_->bytes() : 0; }
  // Starts a new object at `path` for everything that is added from now on. Another thread finishes
  // writing the previous object, again and again where the store refuses; the next call and the
  // destructor wait for one last attempt.
  void continue_in(std::string path);
  const std::string& path() const { return path_; }

 private:
  void open(int flags);

  std::string path_;
  Descriptor file_;
  std::unique_ptr<GrowingObject> object_;      // instead of file_
  std::unique_ptr<GrowingObject> completing_;  // the object before it
};

}  // namespace smelt
