// Converts failures of object stores to error messages.
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"
#include "io/credentials/credential_file.h"
#include "io/credentials/redact.h"
#include "io/credentials/refusal.h"
#include "io/filesystem/object_store.h"
#include "io/http/url.h"

namespace smelt::io {
namespace {

bool says_any(const arrow::Status& status, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    return status.message().find(word) != std::string::npos;
  });
}

void erase_all(std::string& text, const std::string& part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;)
    text.erase(at, part.size());
}

bool is_other_region(const arrow::Status& status) {
  return says_any(status, {"configured region is", "PERMANENT_REDIRECT",
                           "AUTHORIZATION_HEADER_MALFORMED", "(HTTP status 301)"});
}

// Returns whether Google rejected the credentials or their token, for example because the sign-in
// has expired. Returns false if the token could not be fetched for another reason, such as a
// missing network.
bool is_signed_out(const RemotePath& path, const Identity& identity, const arrow::Status& status) {
  if (path.scheme != "gs" || identity.anonymous || is_not_found(status)) return false;
  if (says_any(status, {"google::cloud::Status(UNAUTHENTICATED"})) return true;
  // The error text of the token server. The names of bucket and object, which may precede or follow
  // it, are removed.
  std::string text = status.message();
  for (const std::string& name : {path.key, percent_encoded(path.key), path.bucket})
    if (name.find("invalid_") != std::string::npos) erase_all(text, name);
  return text.find("OAuth2 access token") != std::string::npos &&
         (text.find("invalid_grant") != std::string::npos ||
          text.find("invalid_client") != std::string::npos);
}

bool bucket_is_missing(const arrow::Status& listing) {
  return says_any(listing, {"google::cloud::Status(NOT_FOUND", "NO_SUCH_BUCKET"});
}

arrow::Status listing_of(const Place& place) {
  arrow::fs::FileSelector selector;
  selector.base_dir = place.name;
  return place.system->GetFileInfo(selector).status();
}

// Returns the end of an S3 error's text, "(HTTP status 403)", or "" if it has none.
std::string_view http_status_of(std::string_view text) {
  const std::size_t at = text.rfind("(HTTP status ");
  const std::size_t end = text.find(')', at);
  if (at == std::string_view::npos || end == std::string_view::npos) return {};
  return text.substr(at, end + 1 - at);
}

// Returns the store's own error text, without the text that Google's or Arrow's client adds (the
// names of bucket and object, which the message already has). Removes secrets, because a token
// server may repeat what it received. Shortens a long text, but keeps its HTTP status.
std::string sentence(const arrow::Status& status, const Identity& identity) {
  std::string text = status.message();
  for (const std::string_view before : {"last message of ", "The underlying error message was: "})
    if (const std::size_t at = text.find(before); at != std::string::npos)
      text.erase(0, at + before.size());
  if (const std::size_t at = text.find("AWS Error "); at != std::string::npos) text.erase(0, at);
  if (const std::size_t at = text.find(" error_info="); at != std::string::npos) text.resize(at);
  const std::string said = fit_for_message(text, identity.secrets);
  const std::string_view http_status = http_status_of(text);
  const bool is_cut_off = said.find(http_status) == std::string::npos;
  return is_cut_off ? str(said, " ", http_status) : said;
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

[[noreturn]] void throw_signed_out(const std::string& where, const Identity& identity,
                                   const arrow::Status& status) {
  throw UsageError(str(where, ": the credentials of ", identity.words,
                       " are not accepted: ", sentence(status, identity)),
                   kSignInAgain);
}

[[noreturn]] void throw_denied(const std::string& where, const RemotePath& path, Access access,
                               const arrow::Status& status) {
  const Identity identity = identity_of(path);
  if (const auto hint = refusal_hint(status.message(), "storage"))
    throw UsageError(str(where, ": ", sentence(status, identity), ", accessed as ", identity.words),
                     *hint);
  throw UsageError(
      str(where, ": permission ", permission(path.scheme == "s3", access), " on bucket '",
          path.bucket, path.key.empty() ? "'" : str("', object '", path.key, "'"), " is denied to ",
          identity.words, ": ", sentence(status, identity)),
      permission_hint(path, access, identity));
}

[[noreturn]] void throw_missing_bucket(const std::string& where, const RemotePath& path) {
  throw UsageError(
      str(where, ": no bucket '", path.bucket, "', accessed as ", identity_of(path).words),
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

void throw_unanswered(const std::string& where, const RemotePath& path, const Identity& identity,
                      const arrow::Status& status) {
  if (is_signed_out(path, identity, status)) throw_signed_out(where, identity, status);
  throw SystemError(str(where, ": ", sentence(status, identity), ", accessed as ", identity.words),
                    "check the network and the store's endpoint, then run the command again");
}

void throw_missing_object(std::string_view action, const Place& place) {
  throw UsageError(
      str(location(action, place.path), ": bucket '", place.path.bucket, "' has no object '",
          place.path.key, "', accessed as ", identity_of(place.path).words),
      "check the path");
}

void throw_status(std::string_view action, const Place& place, Access access,
                  const arrow::Status& status) {
  const RemotePath& path = place.path;
  const std::string where = location(action, path);
  const Identity identity = identity_of(path);
  if (is_not_found(status)) {
    require_bucket(action, place);
    throw_missing_object(action, place);
  }
  if (is_signed_out(path, identity, status)) throw_signed_out(where, identity, status);
  if (is_denied(status)) throw_denied(where, path, access, status);
  if (is_other_region(status))
    throw UsageError(str(where, ": bucket '", path.bucket,
                         "' is in another region: ", sentence(status, identity)),
                     str("give its region: ", path.scheme, "://", path.bucket,
                         "/…?region=…, or set AWS_REGION"));
  if (status.IsInvalid())
    throw UsageError(str(where, ": ", sentence(status, identity)),
                     refusal_hint(status.message(), "storage")
                         .value_or("check the names of the bucket and the object"));
  throw_unanswered(where, path, identity, status);
}

}  // namespace smelt::io
