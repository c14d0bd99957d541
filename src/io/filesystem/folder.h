// Listing and removing folders, local or on an object store. There, a folder is the set of objects
// whose names begin with its name and '/', and exists while there are any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smelt {

struct FileStatus {
  bool is_folder = false;
  std::uint64_t size = 0;     // bytes of a file
  std::int64_t modified = 0;  // nanoseconds of the storage's own clock: fit to see that it changed
};

// Returns nullopt if the path does not exist. Throws UsageError without the permission.
std::optional<FileStatus> file_status(const std::string& path);
bool exists(const std::string& path);
bool is_folder(const std::string& path);           // and is there
std::uint64_t file_size(const std::string& path);  // throws UsageError if it does not exist
std::uint64_t total_size(const std::vector<std::string>& paths);  // objects in parallel

// The name that all aliases of a path share, whether or not it exists: "./a", "b/../a", links, the
// options of an object's path.
std::string canonical_path(const std::string& path);
// Whether a path is the folder's or leads into it, by any of their names.
bool lies_in(const std::string& path, const std::string& folder);

// UsageError when one of `outputs` is one of `inputs`, also by another name
// (canonical_path).
void check_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs);

// UsageError that says which is missing: bucket, object or file.
[[noreturn]] void throw_missing(std::string_view action, const std::string& path);

// UsageError when a file at this path could never be written, for want of its bucket.
void check_bucket(const std::string& path);

// UsageError or SystemError unless files can be made in the folder, which need not be there yet: a
// local one by the rights of what there is of its path, on an object store by writing an object and
// removing it.
void check_writable(const std::string& folder);

// The disk of a path, which need not exist yet: its number, and the bytes that this user may write
// there. disk_space() returns nullopt for object stores, or if unknown.
struct DiskSpace {
  std::uint64_t device = 0, free = 0;
};
std::optional<DiskSpace> disk_space(const std::string& path);

// Names of the files and folders in a folder, sorted; none when it does not exist. UsageError when
// unreadable.
std::vector<std::string> list_folder(const std::string& path);

// Makes the folder and its parents; on an object store there is nothing to make.
void make_folders(const std::string& path);

// What is not there is not an error.
void remove_file(const std::string& path);
void remove_tree(const std::string& path);  // a file, or a folder with all it holds

}  // namespace smelt
