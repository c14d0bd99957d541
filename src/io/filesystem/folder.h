// Listing and removal of folders, local or on an object store. A folder on an object store exists
// if there are objects whose name begins with its name and '/'.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt::io {

struct FileStatus {
  bool is_folder = false;
  std::uint64_t size = 0;  // size of a file in bytes
  std::int64_t modified =
      0;  // modification time in nanoseconds of the storage's clock, only for detecting changes
};

// Returns nullopt if the file or folder does not exist. Throws UsageError if access is denied.
std::optional<FileStatus> file_status(const std::string& path);
bool exists(const std::string& path);
bool is_folder(const std::string& path);           // returns false if it does not exist
std::uint64_t file_size(const std::string& path);  // throws UsageError if it does not exist
std::uint64_t total_size(const std::vector<std::string>& paths);  // queries objects in parallel

// Returns one name for all aliases of a path, whether or not it exists. Resolves "./a", "b/../a",
// links and the options of an object's path.
std::string canonical_path(const std::string& path);
// Returns whether a path equals the folder or is inside it, after resolving aliases.
bool is_path_inside(const std::string& path, const std::string& folder);

// Throws UsageError if one of `outputs` is also one of `inputs`, after resolving aliases with
// canonical_path().
void check_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// Throws a UsageError whose message names what is missing: the bucket, the object or the file.
[[noreturn]] void throw_missing(std::string_view action, const std::string& path);

// Throws UsageError if a file at this path can never be written because its bucket does not exist.
void check_bucket(const std::string& path);

// Throws UsageError or SystemError unless files can be created in the folder, which need not exist
// yet. Checks the permissions of a local path; on an object store, writes and removes an object.
void check_writable(const std::string& folder);

// The disk of a path: its identifier, and the bytes that this user may still write. Unknown for an
// object store.
struct DiskSpace {
  std::uint64_t device = 0, free = 0;
};
std::optional<DiskSpace> disk_space(const std::string& path);

// Returns the sorted names of the files and folders in a folder; empty if it does not exist. Throws
// UsageError if it is unreadable.
std::vector<std::string> list_folder(const std::string& path);

// Creates the folder and its parents. Does nothing on an object store.
void make_folders(const std::string& path);

// Removes a file; does nothing if it does not exist.
void remove_file(const std::string& path);
void remove_tree(const std::string& path);  // removes a file, or a folder and its contents

}  // namespace smelt::io
