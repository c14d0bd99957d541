// Arrow's filesystems for gs:// and s3://, and their failures in words. Only this room's sources
// include it.
#pragma once

#include <arrow/filesystem/filesystem.h>
#include <arrow/result.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/filesystem/identity.h"
#include "io/filesystem/path.h"

namespace smelt {

// Where a path on an object store leads. Filesystems are made once for each user and set of options
// (on S3 also each bucket, for its region) and live as long as the process; any thread may use
// them.
struct Place {
  std::shared_ptr<arrow::fs::FileSystem> system;
  RemotePath path;
  std::string name;  // as the filesystem knows it: "bucket/key"
};

// UsageError when the path or the credentials are wrong; SystemError when the store cannot be
// reached.
Place resolve(const std::string& path);

Identity identity_of(const RemotePath& path);

// The kind of a request, for messages about a missing permission.
enum class Access { read, list, write, remove };

// Throws what the status says: UsageError when bucket or object do not exist or access to them is
// denied, naming both, the identity used and the permission; SystemError for everything else.
[[noreturn]] void throw_status(std::string_view action, const Place& place, Access access,
                               const arrow::Status& status);

// Throws UsageError if Google refused the credentials, and otherwise SystemError: the store did not
// respond as it should, or no token for it could be fetched.
[[noreturn]] void throw_unanswered(const std::string& where, const RemotePath& path,
                                   const Identity& identity, const arrow::Status& status);

template <class Value>
Value value_of(arrow::Result<Value> result, std::string_view action, const Place& place,
               Access access) {
  if (!result.ok()) throw_status(action, place, access, result.status());
  return std::move(result).ValueUnsafe();
}

// Whether the status says that an object, a folder or a bucket is not there; that access to it is
// denied.
bool is_not_found(const arrow::Status& status);
bool is_denied(const arrow::Status& status);
// Whether the store has said something, if only that the question was wrong.
bool is_answer(const arrow::Status& status);

// UsageErrors: when the bucket does not exist; that the object does not.
void require_bucket(std::string_view action, const Place& place);
[[noreturn]] void throw_missing_object(std::string_view action, const Place& place);

// Which objects to list: those in a folder, or also those in its subfolders.
enum class Depth { this_folder, all_below };
// Returns the names of files and folders in a folder. S3 needs one request per thousand names; on
// Google's, Arrow must list all objects below the folder.
std::vector<std::string> list_names(const Place& folder, std::string_view action);
// Returns the objects below a folder ("" for the whole bucket) in the order of their names. Throws
// UsageError if the bucket does not exist.
std::vector<arrow::fs::FileInfo> list_objects(const Place& bucket, const std::string& folder,
                                              Depth depth, std::string_view action);

}  // namespace smelt
