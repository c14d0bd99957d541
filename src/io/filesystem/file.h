// Reading, matching and atomically writing files. A path may be local, gs://bucket/key or
// s3://bucket/key (io/filesystem/path.h). "dir/*.txt" is a pattern.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/filesystem/descriptor.h"
#include "io/filesystem/write_buffer.h"

namespace smelt::io {

class RemoteReader;
class RemoteWriter;

// Default size limit of read_file(): larger than any vocabulary or configuration file, so a larger
// file is probably a mistake.
constexpr std::uint64_t kSmallFileBytes = std::uint64_t{64} << 20;

// Returns the content of a file. Throws UsageError if it is missing, unreadable or larger than
// `most` bytes.
std::string read_file(const std::string& path,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// Expands a comma-separated list of paths and glob patterns to files, in list order and with each
// pattern's matches sorted. The wildcards * and ? do not match '/' or a leading dot. Throws
// UsageError if a pattern matches nothing. `what` names the flag or field in messages.
std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what);
// Expands patterns like expand_patterns(), and throws UsageError if the result contains a local
// folder.
std::vector<std::string> expand_files(std::string_view patterns, std::string_view what);

// Expands patterns with a custom function that matches one pattern.
using MatchPattern = std::function<std::vector<std::string>(const std::string& pattern)>;
std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what,
                                         const MatchPattern& match);
// Returns the sorted files that match one path or pattern; empty if none match. On an object store
// a pattern does not match folders.
std::vector<std::string> match_pattern(const std::string& pattern, std::string_view what);

// A sequential reader for large files; prefetches blocks from an object store. The constructor
// throws UsageError if the file cannot be opened.
class InputFile {
 public:
  explicit InputFile(std::string path);
  // Fills `out` and returns the number of bytes, fewer only at the end of the file.
  std::size_t read(std::span<char> out);
  void seek(std::uint64_t offset);
  std::uint64_t size() const { return size_; }  // 0 for a pipe
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor file_;
  std::shared_ptr<RemoteReader> remote_;  // used instead of file_ for an object
  std::uint64_t size_ = 0;
};

// A file that is written under a temporary name in the same folder and renamed atomically by
// commit(). Without commit() it is removed. The temporary name is random and only its owner may
// open it. A symbolic link is kept and its target replaced. Devices and pipes are written directly.
// On an object store the upload is completed by commit() and then replaces an earlier object.
class OutputFile {
 public:
  // Whether written data stays in the page cache. Bypassing it suits gigabytes of output that are
  // not read soon.
  enum class Cache { kept, bypassed };
  // Creates missing parent directories. Throws UsageError if the path is a directory.
  explicit OutputFile(std::string path, Cache cache = Cache::kept);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept = default;
  void write(std::string_view bytes);  // throws SystemError if the disk is full
  void flush();                        // writes the buffer, so that a full disk is detected early
  void commit();                       // syncs to disk, then renames
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string place_;    // path_ with symbolic links resolved
  std::string partial_;  // temporary name; empty after commit() and for a device or pipe
  WriteBuffer buffer_;   // bytes not yet written
  Descriptor file_;
  std::shared_ptr<RemoteWriter> remote_;  // used instead of the members above for an object
};

// Returns the final name of a temporary OutputFile or OutputDirectory: "f" for
// "f.partial-0123456789abcdef". Returns nullopt for any other name.
std::optional<std::string_view> place_of_partial(std::string_view name);

// Removes temporary files that killed processes left for these local paths. A file that a running
// process still writes is locked (flock) and is kept. Does nothing on file systems without locks
// and on object stores.
void remove_abandoned(const std::vector<std::string>& paths);
// Removes all abandoned temporary files in this folder.
void remove_abandoned_in(const std::string& folder);

// Writes a file atomically.
void write_file(const std::string& path, std::string_view bytes);
// Copies a file atomically; either path may be remote.
void copy_file(const std::string& from, const std::string& to);

// Makes an immutable file available under another name on the same storage: a hard link if the disk
// supports it, otherwise a copy. On a disk, `to` must not exist.
void share_file(const std::string& from, const std::string& to);

// A directory that is built under a temporary name and renamed by commit(). Without commit() it is
// removed. Object stores cannot rename: there each member appears at its final place when it is
// committed, so the member that marks the directory as complete must be written last.
class OutputDirectory {
 public:
  // What happens if the directory exists and is not empty: throw UsageError, or replace it at
  // commit() (on an object store member by member).
  enum class Earlier { refused, replaced };
  explicit OutputDirectory(std::string path, Earlier earlier = Earlier::refused);
  ~OutputDirectory();
  std::string file(std::string_view name) const;  // returns the path at which to write a member
  void commit();

 private:
  std::string path_;
  Earlier earlier_;
  std::string partial_;  // temporary name; empty after commit()
};

}  // namespace smelt::io
