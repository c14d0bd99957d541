// A log that others read while it grows. On a disk each addition is appended at once; on an object
// store a separate thread writes it (io/filesystem/growing_object.h).
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
  // Creates a new file and its folder. Throws UsageError if the file exists.
  explicit GrowingFile(std::string path);
  // One that begins with these bytes; an earlier file makes way for it as a whole.
  GrowingFile(std::string path, std::string_view begin);
  GrowingFile(const GrowingFile&) = delete;

  // Sets GrowingObject::write_every().
  void write_objects_every(double seconds) {
    if (object_) object_->write_every(seconds);
  }
  // SystemError on a full disk; the file may then end with a part of it. Nobody waits for an object
  // store, or hears of its failures but in the log.
  void add(std::string_view bytes);
  // Writes everything that the object lacks now. Throws if that fails.
  void flush() {
    if (completing_) completing_->flush();
    if (object_) object_->flush();
  }
  // Returns the size of the object, which is kept in memory and rewritten each time; 0 for a local
  // file.
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
