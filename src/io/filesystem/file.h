// Files by path: whole reads, lists of patterns, and writes that appear whole or not at all.
// A path may be local, gs://bucket/key or s3://bucket/key (io/filesystem/path.h); "dir/*.txt" is a
// pattern.
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

namespace smelt {

class RemoteReader;
class RemoteWriter;

// More than any vocabulary or file of settings has: who names a larger one meant another file.
constexpr std::uint64_t kSmallFileBytes = std::uint64_t{64} << 20;

// The whole content. UsageError when missing, unreadable or of more than `most` bytes.
std::string read_file(const std::string& path,
                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// A comma list of paths and glob patterns -> the files, each pattern's matches sorted, in list
// order. As in a shell, * and ? match no '/', and none of a name's leading dot. UsageError naming
// the pattern that matches nothing. `what` names the flag or field in messages.
std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what);
// The same of files alone: UsageError where a local folder is among them.
std::vector<std::string> expand_files(std::string_view patterns, std::string_view what);

// The same with another way to match one pattern.
using MatchPattern = std::function<std::vector<std::string>(const std::string& pattern)>;
std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what,
                                         const MatchPattern& match);
// The files that one path or pattern names, sorted; none when there are none. On an object store a
// pattern matches no folders.
std::vector<std::string> match_pattern(const std::string& pattern, std::string_view what);

// Sequential reader, for large reads; from an object store the next blocks are fetched meanwhile.
// UsageError when it cannot be opened.
class InputFile {
 public:
  explicit InputFile(std::string path);
  // Fills `out`; fewer bytes only at the end of the file.
  std::size_t read(std::span<char> out);
  void seek(std::uint64_t offset);
  std::uint64_t size() const { return size_; }  // 0 of a pipe
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor file_;
  std::shared_ptr<RemoteReader> remote_;  // instead of file_
  std::uint64_t size_ = 0;
};

// A file written beside its place and renamed there by commit(); without commit nothing remains.
// Until then its name cannot be foretold and only its owner may open it. Behind a symbolic link the
// file that it leads to is replaced. A device or a pipe is written as it is. On an object store it
// is an upload that commit() ends: the object appears then, replacing an earlier one.
class OutputFile {
 public:
  // Whether the bytes stay in the system's memory, for those who read them soon. Gigabytes that
  // nobody reads take that memory from others, and finding it costs more than the writing.
  enum class Cache { kept, bypassed };
  // Makes missing parent directories. UsageError for a directory.
  explicit OutputFile(std::string path, Cache cache = Cache::kept);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept = default;
  void write(std::string_view bytes);  // SystemError on a full disk; the partial file is removed
  void flush();   // so that a full disk is said now and not by commit(); on object stores nothing
  void commit();  // flushed to the disk, then renamed
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string place_;    // path_ without symbolic links
  std::string partial_;  // empty once committed, and of a device or pipe
  WriteBuffer buffer_;   // not yet in the file
  Descriptor file_;
  std::shared_ptr<RemoteWriter> remote_;  // instead of all these
};

// What an OutputFile or OutputDirectory of this name will be once it is whole:
// "f.partial-0123456789abcdef" -> "f"; nothing for a name that is none of theirs.
std::optional<std::string_view> place_of_partial(std::string_view name);

// Removes what OutputFiles of processes that were killed left beside these local paths. A process
// holds a lock (flock) on what it is writing, which is left alone; so is everything where the file
// system has no locks. Nothing is done for objects.
void remove_abandoned(const std::vector<std::string>& paths);
// The same for all OutputFiles that were to be in this folder.
void remove_abandoned_in(const std::string& folder);

// write + commit in one call.
void write_file(const std::string& path, std::string_view bytes);

// A file that will not be changed once more under another name of the same storage: its bytes are
// shared where a disk can, and copied within an object store. `to` must be new on a disk.
void share_file(const std::string& from, const std::string& to);

// A directory built beside its place and renamed there by commit(); without commit nothing remains.
// An object store has no renaming: there each member appears in its place as it is committed, so
// the member that makes the others count must be written last. Without commit() the members are
// removed.
class OutputDirectory {
 public:
  // What happens to a directory that is there and not empty: a UsageError, or it makes way at
  // commit() (on an object store member by member).
  enum class Earlier { refused, replaced };
  explicit OutputDirectory(std::string path, Earlier earlier = Earlier::refused);
  ~OutputDirectory();
  std::string file(std::string_view name) const;  // where to write a member while it is being built
  void commit();

 private:
  std::string path_;
  Earlier earlier_;
  std::string partial_;  // where it is built; empty once committed
};

}  // namespace smelt
