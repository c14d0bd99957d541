#include "io/filesystem/object_store.h"

#include <arrow/filesystem/gcsfs.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "base/error.h"
#include "io/filesystem/endpoint.h"
#include "io/filesystem/s3_patience.h"

namespace smelt::io {
namespace {

using FileSystem = std::shared_ptr<arrow::fs::FileSystem>;

// How long a request is retried if the store does not respond. The first request only checks
// whether the store can be reached and has a shorter limit, so that a wrong setting is reported
// soon.
constexpr double kRetrySeconds = 120;
constexpr double kFirstRetrySeconds = 3;

struct Connection {
  FileSystem system;
  Identity identity;
};

// The process's open connections. Never destroyed, because other threads may still be reading when
// the process ends.
struct Connections {
  std::mutex mutex;
  std::map<std::string, Connection> by_options;
};

Connections& connections() {
  static auto& all = *new Connections;
  return all;
}

FileSystem google_filesystem(const arrow::fs::GcsOptions& options, const RemotePath& path,
                             const Identity& identity) {
  auto made = arrow::fs::GcsFileSystem::Make(options);
  if (!made.ok()) throw_unanswered("gs://", path, identity, made.status());
  return *made;
}

// Sends one request, and throws like throw_unanswered() if the store cannot be reached.
void require_answer(arrow::fs::FileSystem& system, const RemotePath& path,
                    const Identity& identity) {
  const auto first = system.GetFileInfo(path.bucket).status();
  if (!is_answer(first))
    throw_unanswered(str(path.scheme, "://", path.bucket), path, identity, first);
}

Connection connect_google(const RemotePath& path) {
  const Endpoint endpoint = endpoint_of(path);
  Identity identity;
  if (!path.user.empty())
    identity = chosen_anonymous("gs://anonymous@…");
  else if (!endpoint.no_secrets.empty())
    identity = chosen_anonymous(endpoint.no_secrets, endpoint.remedy);
  else
    identity = google_identity();
  auto options =
      identity.anonymous ? arrow::fs::GcsOptions::Anonymous() : arrow::fs::GcsOptions::Defaults();
  if (!endpoint.scheme.empty()) options.scheme = endpoint.scheme;
  options.endpoint_override = endpoint.host;
  options.retry_limit_seconds = kFirstRetrySeconds;
  require_answer(*google_filesystem(options, path, identity), path, identity);
  options.retry_limit_seconds = kRetrySeconds;
  return {google_filesystem(options, path, identity), identity};
}

// Loads AWS's client, a separate library next to Arrow's, for the first s3:// path.
void load_s3() {
  ::Dl_info arrow_library{};
  CHECK(::dladdr(reinterpret_cast<const void*>(&arrow::fs::EnsureFinalized), &arrow_library) != 0);
  std::string path = arrow_library.dli_fname;
  const std::size_t name = path.rfind("libarrow.so");
  if (name == std::string::npos)
    throw SystemError(str("s3://: ", path, " does not have the name of Arrow's library"));
  path.insert(name + std::string("libarrow").size(), "_s3");
  if (const auto status = arrow::fs::LoadFileSystemFactories(path.c_str()); !status.ok())
    throw SystemError(str("s3://: ", status.message()),
                      str("install Arrow's library for S3 as ", path));
}

Connection connect_s3(const RemotePath& path) {
  static std::once_flag loaded;
  std::call_once(loaded, load_s3);
  const Endpoint endpoint = endpoint_of(path);
  const std::string uri = str("s3://", path.bucket, endpoint.options());
  const auto patience = std::make_shared<S3Patience>(kFirstRetrySeconds);
  arrow::fs::FileSystemFactoryOptions options{
      {"retry_strategy", std::shared_ptr<arrow::fs::S3RetryStrategy>(patience)}};
  Identity identity = aws_identity();
  if (!endpoint.no_secrets.empty()) {
    identity = chosen_anonymous(endpoint.no_secrets, endpoint.remedy);
    for (const char* none : {"access_key", "secret_key"}) options.emplace_back(none, std::string());
  }
  auto made = arrow::fs::FileSystemFromUriAndOptions(uri, options);
  // The client must be shut down before its static objects are destroyed at exit. It has created
  // them by now, so a handler that is registered here runs before their destructors.
  static const int registered = std::atexit([] { arrow::fs::EnsureFinalized(); });
  CHECK(registered == 0);
  const std::string what = str("path: ", uri, ": ", made.status().message());
  if (made.status().IsInvalid())
    throw UsageError(what, "options are region=…, scheme=…, endpoint_override=…");
  if (!made.ok())
    throw SystemError(
        what, "check that the bucket exists, or give its region: s3://bucket/…?region=eu-west-1");
  require_answer(**made, path, identity);
  patience->set(kRetrySeconds);
  return {*made, identity};
}

Connection connection(const RemotePath& path) {
  Connections& all = connections();
  const bool s3 = path.scheme == "s3";
  const std::string key =
      str(path.scheme, " ", path.user, " ", s3 ? path.bucket : "", " ", path.options);
  const std::lock_guard lock(all.mutex);
  auto found = all.by_options.find(key);
  if (found == all.by_options.end())
    found = all.by_options.emplace(key, s3 ? connect_s3(path) : connect_google(path)).first;
  return found->second;
}

}  // namespace

Place resolve(const std::string& path) {
  Place place;
  place.path = parse_remote(path);
  place.system = connection(place.path).system;
  place.name =
      place.path.key.empty() ? place.path.bucket : str(place.path.bucket, "/", place.path.key);
  return place;
}

Identity identity_of(const RemotePath& path) { return connection(path).identity; }

namespace {

// Returns the objects below a folder in any order. The bucket must exist.
std::vector<arrow::fs::FileInfo> listing(const Place& bucket, const std::string& folder,
                                         Depth depth, std::string_view action) {
  arrow::fs::FileSelector selector;
  selector.base_dir = folder.empty() ? bucket.path.bucket : str(bucket.path.bucket, "/", folder);
  selector.recursive = depth == Depth::all_below;
  selector.allow_not_found = true;
  auto found = value_of(bucket.system->GetFileInfo(selector), action, bucket, Access::list);
  if (found.empty()) require_bucket(action, bucket);
  return found;
}

}  // namespace

std::vector<std::string> list_names(const Place& folder, std::string_view action) {
  const bool s3 = folder.path.scheme == "s3";
  std::set<std::string> names;
  for (const auto& info :
       listing(folder, folder.path.key, s3 ? Depth::this_folder : Depth::all_below, action)) {
    if (!s3 && !info.IsFile()) continue;
    const std::string below = info.path().substr(folder.name.size() + 1);
    names.insert(below.substr(0, below.find('/')));
  }
  return {names.begin(), names.end()};
}

std::vector<arrow::fs::FileInfo> list_objects(const Place& bucket, const std::string& folder,
                                              Depth depth, std::string_view action) {
  auto found = listing(bucket, folder, depth, action);
  std::erase_if(found, [](const arrow::fs::FileInfo& info) { return !info.IsFile(); });
  std::ranges::sort(found, {}, [](const arrow::fs::FileInfo& info) { return info.path(); });
  return found;
}

}  // namespace smelt::io
