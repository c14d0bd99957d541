// Files by path: reading whole files, lists of patterns, and atomic writes.
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

// Expands a list of paths and glob patterns, separated by commas, to the files: in the order of the
// list, the matches of a pattern sorted. As in a shell, * and ? match neither '/' nor the leading
// dot of a name. Throws UsageError for a pattern without matches. `what` names the flag or field.
std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what);
// Does the same for files only: throws UsageError if a local folder is among them.
std::vector<std::string> expand_files(std::string_view patterns, std::string_view what);

// Does the same with another function that matches one pattern.
using MatchPattern = std::function<std::vector<std::string>(const std::string& pattern)>;
std::vector<std::string> expand_patterns(std::string_view patterns, std::string_view what,
                                         const MatchPattern& match);
// Returns the files that one path or pattern matches, sorted; may be empty. On an object store a
// pattern does not match folders.
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

// A file that appears atomically: it is written under a temporary name in the same folder, and
// commit() renames it. Without commit() nothing remains. The temporary name is random, and only the
// owner may open it. If the path is a symbolic link, the file that it points to is replaced. A
// device or a pipe is written directly. On an object store it is an upload that commit() completes.
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
  void flush();   // reports a full disk now instead of in commit(); no effect on object stores
  void commit();  // flushes to the disk, then renames
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string place_;    // path_ without symbolic links
  std::string partial_;  // empty once committed, and of a device or pipe
  WriteBuffer buffer_;   // not yet in the file
  Descriptor file_;
  std::shared_ptr<RemoteWriter> remote_;  // instead of all these
};

// Returns the final name of the OutputFile or OutputDirectory with this temporary name:
// "f.partial-0123456789abcdef" -> "f". Returns nullopt for other names.
std::optional<std::string_view> place_of_partial(std::string_view name);

// Removes temporary files that killed processes left for these local paths. Files that another
// process is still writing are locked (flock) and are kept. If the file system has no locks,
// everything is kept. Has no effect on object stores.
void remove_abandoned(const std::vector<std::string>& paths);
// Does the same for all paths in this folder.
void remove_abandoned_in(const std::string& folder);

// write + commit in one call.
void write_file(const std::string& path, std::string_view bytes);

// Gives a file that will not change a second name in the same storage: by a hard link if the disk
// supports it, else by a copy; on an object store by a copy. On a disk `to` must not exist.
void share_file(const std::string& from, const std::string& to);

// A directory that appears atomically: it is built under a temporary name, and commit() renames it.
// Without commit() nothing remains. An object store cannot rename: there each file appears when it
// is committed, so the file that marks the directory as complete must be written last. Without
// commit() the files are removed.
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
