#include "io/filesystem/folder.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>
#include <set>

#include "base/error.h"
#include "base/parallel.h"
#include "io/filesystem/file.h"
#include "io/filesystem/object_store.h"
#include "io/filesystem/path.h"
#include "io/hub/hub_files.h"

namespace smelt::io {
namespace fs = std::filesystem;
namespace {

constexpr int kRequestsAtOnce = 16;

void require(const std::error_code& error, std::string_view action, const std::string& path) {
  if (error) throw_errno(action, path, error.value());
}

std::optional<FileStatus> remote_status(const std::string& path) {
  const Place place = resolve(path);
  const auto info = value_of(place.system->GetFileInfo(place.name), "look at", place, Access::read);
  if (info.type() == arrow::fs::FileType::NotFound) return std::nullopt;
  if (!info.IsFile()) return FileStatus{true, 0, 0};
  return FileStatus{false, static_cast<std::uint64_t>(info.size()),
                    info.mtime().time_since_epoch().count()};
}

void remove_remote(const std::string& path) {
  const Place place = resolve(path);
  CHECK(!place.path.key.empty(), "never a whole bucket: ", path);
  const arrow::Status status = place.system->DeleteFile(place.name);
  if (!status.ok() && !is_not_found(status)) throw_status("remove", place, Access::remove, status);
}

void remove_remote_folder(const std::string& path) {
  const Place place = resolve(path);
  // Removal stops with an error if another process has removed one of the objects. The remaining
  // objects are then listed again.
  while (!list_objects(place, place.path.key, Depth::all_below, "remove").empty()) {
    // Arrow's DeleteDirContents would leave a marker object for the empty folder on S3, and its
    // DeleteDir would require a marker object on gs://.
    const arrow::Status status = place.path.scheme == "s3"
                                     ? place.system->DeleteDir(place.name)
                                     : place.system->DeleteDirContents(place.name, true);
    if (status.ok()) return;
    if (!is_not_found(status)) throw_status("remove", place, Access::remove, status);
  }
}

// Returns the local path if it exists, otherwise its nearest existing parent folder.
std::string what_is_there(const std::string& path) {
  std::string there = path;
  while (!there.empty() && !exists(there)) there = parent_path(there);
  return there.empty() ? "." : there;
}

}  // namespace

std::optional<FileStatus> file_status(const std::string& path) {
  if (is_hub_path(path)) {
    const auto found = hub_status(path);
    if (!found) return std::nullopt;
    return FileStatus{found->is_folder, found->size, found->version};
  }
  if (is_remote(path)) return remote_status(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory &&
        error != std::errc::not_a_directory)
      throw_errno("get the status of", path, error.value());
    return std::nullopt;
  }
  FileStatus found{fs::is_directory(status), 0, 0};
  if (fs::is_regular_file(status)) found.size = fs::file_size(path, error);
  if (!error) found.modified = fs::last_write_time(path, error).time_since_epoch().count();
  if (error == std::errc::no_such_file_or_directory)
    return std::nullopt;  // removed by another process
  require(error, "get the status of", path);
  return found;
}

bool exists(const std::string& path) { return file_status(path).has_value(); }

bool is_folder(const std::string& path) {
  const auto status = file_status(path);
  return status && status->is_folder;
}

std::uint64_t file_size(const std::string& path) {
  const auto status = file_status(path);
  if (!status) throw_missing("open", path);
  if (status->is_folder) throw_errno("open", path, EISDIR);
  return status->size;
}

std::uint64_t total_size(const std::vector<std::string>& paths) {
  const bool any_remote = std::ranges::any_of(paths, is_remote);
  std::atomic<std::uint64_t> total = 0;
  run_each(paths.size(), any_remote ? kRequestsAtOnce : 1,
           [&](std::size_t i) { total += file_size(paths[i]); });
  return total;
}

std::string canonical_path(const std::string& path) {
  if (is_hub_path(path)) return hub_at_commit(path);
  if (is_remote(path)) {
    const RemotePath parts = parse_remote(path);
    return str(parts.scheme, "://", parts.bucket, "/", parts.key);
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(path.empty() ? "." : path, error);
  const fs::path whole = absolute.lexically_normal();
  const fs::path place = fs::weakly_canonical(absolute, error);
  std::string name = error ? whole.string() : place.string();
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name;
}

bool is_path_inside(const std::string& path, const std::string& folder) {
  const std::string inner = canonical_path(path), outer = canonical_path(folder);
  return inner == outer || inner.starts_with(outer.ends_with('/') ? outer : outer + "/");
}

void check_apart(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  std::set<std::string> read;
  for (const std::string& path : inputs) read.insert(canonical_path(path));
  for (const std::string& path : outputs)
    if (read.contains(canonical_path(path)))
      throw UsageError(str("output ", path, " is also an input, which it would replace"),
                       "write to another file");
}

void throw_missing(std::string_view action, const std::string& path) {
  if (!is_remote(path)) throw_errno(action, path, ENOENT);
  if (is_hub_path(path)) hub_file(path);  // throws the error
  const Place place = resolve(path);
  require_bucket(action, place);
  throw_missing_object(action, place);
}

void check_bucket(const std::string& path) {
  if (is_remote(path)) require_bucket("write", resolve(path));
}

std::vector<std::string> list_folder(const std::string& path) {
  if (is_hub_path(path)) return hub_folder(path);
  if (is_remote(path)) return list_names(resolve(path), "read directory");
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error))
    names.push_back(entry->path().filename());
  if (error != std::errc::no_such_file_or_directory) require(error, "read directory", path);
  std::ranges::sort(names);
  return names;
}

void make_folders(const std::string& path) {
  if (is_remote(path)) return;
  std::error_code error;
  fs::create_directories(path, error);
  require(error, "create directory", path);
}

void remove_file(const std::string& path) {
  if (is_remote(path)) return remove_remote(path);
  std::error_code error;
  fs::remove(path, error);
  require(error, "remove", path);
}

void remove_tree(const std::string& path) {
  if (is_remote(path)) {
    remove_remote(path);
    return remove_remote_folder(path);
  }
  std::error_code error;
  fs::remove_all(path, error);
  require(error, "remove", path);
}

std::optional<DiskSpace> disk_space(const std::string& path) {
  if (is_remote(path)) return std::nullopt;
  const std::string there = what_is_there(path);
  struct ::statvfs disk{};
  struct ::stat folder{};
  if (::statvfs(there.c_str(), &disk) != 0 || ::stat(there.c_str(), &folder) != 0)
    return std::nullopt;
  return DiskSpace{.device = folder.st_dev,
                   .free = std::uint64_t{disk.f_bavail} * std::uint64_t{disk.f_frsize}};
}

void check_writable(const std::string& folder) {
  if (is_remote(folder)) {
    const std::string probe = join_path(folder, str(".smelt-probe-", std::random_device()()));
    write_file(probe, "");
    return remove_file(probe);
  }
  const std::string there = what_is_there(folder);
  if (!file_status(there)->is_folder) throw_errno("write to", there, ENOTDIR);
  if (::access(there.c_str(), W_OK | X_OK) != 0) throw_errno("write to", there, errno);
}

}  // namespace smelt::io
