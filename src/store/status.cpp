// What a failure of an object store means to the user.
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "store/object_store.h"

namespace smelt {
namespace {

bool says_any(const arrow::Status& status, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    return status.message().find(word) != std::string::npos;
  });
}

bool is_other_region(const arrow::Status& status) {
  return says_any(status, {"configured region is", "PERMANENT_REDIRECT",
                           "AUTHORIZATION_HEADER_MALFORMED", "(HTTP status 301)"});
}

bool bucket_is_missing(const arrow::Status& listing) {
  return says_any(listing, {"google::cloud::Status(NOT_FOUND", "NO_SUCH_BUCKET"});
}

arrow::Status listing_of(const Place& place) {
  arrow::fs::FileSelector selector;
  selector.base_dir = place.name;
  return place.system->GetFileInfo(selector).status();
}

// The store's own sentence out of what Google's client wraps around it.
std::string sentence(const arrow::Status& status) {
  std::string text = status.message();
  constexpr std::string_view kBefore = "last message of ";
  if (const std::size_t at = text.find(kBefore); at != std::string::npos)
    text.erase(0, at + kBefore.size());
  if (const std::size_t at = text.find(" error_info="); at != std::string::npos) text.resize(at);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string permission(bool s3, Access access) {
  switch (access) {
    case Access::read:
      return s3 ? "s3:GetObject" : "storage.objects.get";
    case Access::list:
      return s3 ? "s3:ListBucket" : "storage.objects.list";
    case Access::write:  // writing over an object deletes the old one
      return s3 ? "s3:PutObject"
                : "storage.objects.create (and storage.objects.delete where it exists)";
    case Access::remove:
      return s3 ? "s3:DeleteObject" : "storage.objects.delete";
  }
  CHECK(false);
}

std::string permission_hint(const RemotePath& path, Access access, const Identity& identity) {
  if (!identity.remedy.empty()) return identity.remedy;
  if (path.scheme == "s3")
    return str("allow ", permission(true, access), " on bucket '", path.bucket,
               "' in its policy or the identity's, or set AWS_PROFILE or AWS_ACCESS_KEY_ID to "
               "another identity");
  if (identity.anonymous)
    return "run 'gcloud auth application-default login', or set GOOGLE_APPLICATION_CREDENTIALS to "
           "a key file";
  const bool reads = access == Access::read || access == Access::list;
  return str("gcloud storage buckets add-iam-policy-binding gs://", path.bucket,
             " --member=", identity.member.empty() ? "user:YOUR_EMAIL" : identity.member,
             " --role=roles/storage.object", reads ? "Viewer" : "User");
}

[[noreturn]] void throw_denied(const std::string& where, const RemotePath& path, Access access,
                               const arrow::Status& status) {
  const Identity identity = identity_of(path);
  throw UsageError(
      str(where, ": permission ", permission(path.scheme == "s3", access), " on bucket '",
          path.bucket, path.key.empty() ? "'" : str("', object '", path.key, "'"), " is denied to ",
          identity.words, ": ", sentence(status)),
      permission_hint(path, access, identity));
}

[[noreturn]] void throw_missing_bucket(const std::string& where, const RemotePath& path) {
  throw UsageError(
      str(where, ": there is no bucket '", path.bucket, "', asked as ", identity_of(path).words),
      "check the bucket's name");
}

std::string location(std::string_view action, const RemotePath& path) {
  return str(action, ": ", path.scheme, "://", path.bucket, path.key.empty() ? "" : "/", path.key);
}

}  // namespace

bool is_denied(const arrow::Status& status) {
  return arrow::internal::ErrnoFromStatus(status) == EACCES ||
         says_any(status, {"ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH",
                           "INVALID_CLIENT_TOKEN_ID", "EXPIRED_TOKEN", "(HTTP status 401)",
                           "(HTTP status 403)"});
}

bool is_not_found(const arrow::Status& status) {
  return arrow::internal::ErrnoFromStatus(status) == ENOENT ||
         says_any(status, {"NO_SUCH_BUCKET", "NO_SUCH_KEY"});
}

bool is_answer(const arrow::Status& status) {
  return status.ok() || status.IsInvalid() || is_not_found(status) || is_denied(status) ||
         is_other_region(status);
}

void require_bucket(std::string_view action, const Place& place) {
  if (bucket_is_missing(listing_of(place)))
    throw_missing_bucket(location(action, place.path), place.path);
}

void throw_unanswered(const std::string& where, const Identity& identity,
                      const arrow::Status& status) {
  throw SystemError(str(where, ": ", sentence(status), ", asked as ", identity.words),
                    "check the network and the store's endpoint, then run the command again");
}

void throw_missing_object(std::string_view action, const Place& place) {
  throw UsageError(
      str(location(action, place.path), ": bucket '", place.path.bucket, "' has no object '",
          place.path.key, "', asked as ", identity_of(place.path).words),
      "check the path");
}

void throw_status(std::string_view action, const Place& place, Access access,
                  const arrow::Status& status) {
  const RemotePath& path = place.path;
  const std::string where = location(action, path);
  if (is_denied(status)) throw_denied(where, path, access, status);
  if (is_not_found(status)) {
    require_bucket(action, place);
    throw_missing_object(action, place);
  }
  if (is_other_region(status))
    throw UsageError(
        str(where, ": bucket '", path.bucket, "' is in another region: ", sentence(status)),
        str("give its region: ", path.scheme, "://", path.bucket,
            "/…?region=…, or set AWS_REGION"));
  if (status.IsInvalid())
    throw UsageError(str(where, ": ", sentence(status)),
                     "check the names of the bucket and the object");
  throw_unanswered(where, identity_of(path), status);
}

}  // namespace smelt
