// Access to gs:// and s3:// through Arrow's filesystems, and error messages for their failures.
// Private to io/filesystem.
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/result.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/filesystem/identity.h"
#include "io/filesystem/path.h"

namespace smelt::io {

// A path on an object store and the filesystem that serves it. Filesystems are created once for
// each user and set of options (on S3 also each bucket, for its region), live as long as the
// process and are thread-safe.
struct Place {
  std::shared_ptr<arrow::fs::FileSystem> system;
  RemotePath path;
  std::string name;  // name within the filesystem: "bucket/key"
};

// Returns the filesystem of a path. Throws UsageError if the path or the credentials are invalid,
// SystemError if the store is unreachable.
Place resolve(const std::string& path);

Identity identity_of(const RemotePath& path);

// The attempted operation; determines which missing permission an error message names.
enum class Access { read, list, write, remove };

// Throws the error for a failed status: UsageError if the bucket or object does not exist or access
// is denied, naming both, the identity and the permission; otherwise SystemError.
[[noreturn]] void throw_status(std::string_view action, const Place& place, Access access,
                               const arrow::Status& status);

// Throws UsageError if Google rejected the credentials, and SystemError for any other invalid
// response or if no token could be fetched.
[[noreturn]] void throw_unanswered(const std::string& where, const RemotePath& path,
                                   const Identity& identity, const arrow::Status& status);

template <class Value>
Value value_of(arrow::Result<Value> result, std::string_view action, const Place& place,
               Access access) {
  if (!result.ok()) throw_status(action, place, access, result.status());
  return std::move(result).ValueUnsafe();
}

// Return whether the status means that an object, folder or bucket does not exist, or that access
// is denied.
bool is_not_found(const arrow::Status& status);
bool is_denied(const arrow::Status& status);
// Returns whether the store responded at all, even with an error.
bool is_answer(const arrow::Status& status);

// require_bucket() throws UsageError if the bucket does not exist. throw_missing_object() always
// throws UsageError, which says that the object does not exist.
void require_bucket(std::string_view action, const Place& place);
[[noreturn]] void throw_missing_object(std::string_view action, const Place& place);

// The objects to list: only those directly in a folder, or also those in its subfolders. The folder
// "" is the whole bucket.
enum class Depth { this_folder, all_below };
// Returns the names of files and folders in a folder. S3 needs one request per thousand names; on
// Google Cloud Storage, Arrow lists all objects below the folder.
std::vector<std::string> list_names(const Place& folder, std::string_view action);
// Returns the objects below a folder ("" for the whole bucket) in the order of their names. Throws
// UsageError if the bucket does not exist.
std::vector<arrow::fs::FileInfo> list_objects(const Place& bucket, const std::string& folder,
                                              Depth depth, std::string_view action);

}  // namespace smelt::io
