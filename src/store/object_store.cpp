#include "store/object_store.h"

#include <arrow/filesystem/gcsfs.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/error.h"

namespace smelt {
namespace {

using FileSystem = std::shared_ptr<arrow::fs::FileSystem>;

// How long a request is tried again while the store does not answer. The first one of all only asks
// whether it can be reached, and is given up soon: a mistake in a setting is not waited for.
constexpr double kRetrySeconds = 120;
constexpr double kFirstRetrySeconds = 3;

struct Connection {
  FileSystem system;
  Identity identity;
};

// Never destroyed: reads may still be under way on other threads when the process ends.
struct Connections {
  std::mutex mutex;
  std::map<std::string, Connection> by_options;
};

Connections& connections() {
  static auto& all = *new Connections;
  return all;
}

// "?scheme=http&endpoint_override=h:1" -> {{"scheme", "http"}, {"endpoint_override", "h:1"}}
std::map<std::string, std::string> options_of(const RemotePath& path) {
  std::map<std::string, std::string> options;
  if (path.options.empty()) return options;
  for (const std::string_view item : split(std::string_view(path.options).substr(1), '&')) {
    const std::size_t equals = std::min(item.find('='), item.size());
    options.emplace(item.substr(0, equals), item.substr(std::min(equals + 1, item.size())));
  }
  return options;
}

struct Endpoint {
  std::string scheme = "https";
  std::string host;  // "" = Google's
  std::string why;   // in words, when it is not Google's
};

// CLOUD_STORAGE_EMULATOR_ENDPOINT as Google's clients understand it, then the path's own options.
Endpoint google_endpoint(const RemotePath& path) {
  Endpoint endpoint;
  if (const char* variable = std::getenv("CLOUD_STORAGE_EMULATOR_ENDPOINT");
      variable != nullptr && *variable != '\0') {
    const std::string_view url = variable;
    const std::size_t mark = url.find("://");
    endpoint.scheme = mark == std::string_view::npos ? "http" : url.substr(0, mark);
    endpoint.host = mark == std::string_view::npos ? url : url.substr(mark + 3);
    while (endpoint.host.ends_with('/')) endpoint.host.pop_back();
    endpoint.why = "CLOUD_STORAGE_EMULATOR_ENDPOINT is set";
  }
  for (const auto& [name, value] : options_of(path)) {
    if (name == "scheme" && (value == "http" || value == "https"))
      endpoint.scheme = value;
    else if (name == "endpoint_override" && !value.empty())
      endpoint.host = value;
    else
      throw UsageError(str("path: gs://", path.bucket, "/", path.key, path.options, ": option ",
                           name, "=", value),
                       "options are scheme=http or https, and endpoint_override=HOST:PORT");
  }
  const bool here =
      endpoint.host.starts_with("127.0.0.1:") || endpoint.host.starts_with("localhost:");
  if (endpoint.why.empty() && endpoint.scheme == "http" && !here)
    endpoint.why = "nothing secret is sent over http";
  return endpoint;
}

FileSystem google_filesystem(const arrow::fs::GcsOptions& options) {
  auto made = arrow::fs::GcsFileSystem::Make(options);
  if (!made.ok()) throw SystemError(str("gs://: ", made.status().message()));
  return *made;
}

Connection connect_google(const RemotePath& path) {
  const Endpoint endpoint = google_endpoint(path);
  Identity identity;
  if (!path.user.empty())
    identity = chosen_anonymous("gs://anonymous@…");
  else if (!endpoint.why.empty())
    identity = chosen_anonymous(endpoint.why);
  else
    identity = google_identity();
  auto options =
      identity.anonymous ? arrow::fs::GcsOptions::Anonymous() : arrow::fs::GcsOptions::Defaults();
  options.scheme = endpoint.scheme;
  options.endpoint_override = endpoint.host;
  options.retry_limit_seconds = kFirstRetrySeconds;
  const auto first = google_filesystem(options)->GetFileInfo(path.bucket).status();
  if (!first.ok() && !first.IsInvalid() && !is_not_found(first) && !is_denied(first))
    throw_unanswered(str("gs://", path.bucket), identity, first);
  options.retry_limit_seconds = kRetrySeconds;
  return {google_filesystem(options), identity};
}

// AWS's client lives in a library of its own beside Arrow's, which the first s3:// loads.
void load_s3() {
  ::Dl_info arrow_library{};
  CHECK(::dladdr(reinterpret_cast<const void*>(&arrow::fs::EnsureFinalized), &arrow_library) != 0);
  std::string path = arrow_library.dli_fname;
  const std::size_t name = path.rfind("libarrow.so");
  if (name == std::string::npos)
    throw SystemError(str("s3://: ", path, " is not named as Arrow's library is"));
  path.insert(name + std::string("libarrow").size(), "_s3");
  if (const auto status = arrow::fs::LoadFileSystemFactories(path.c_str()); !status.ok())
    throw SystemError(str("s3://: ", status.message()),
                      str("Arrow's library for S3 belongs at ", path));
}

Connection connect_s3(const RemotePath& path) {
  static std::once_flag loaded;
  std::call_once(loaded, load_s3);
  const std::string uri = str("s3://", path.bucket, path.options);
  auto made = arrow::fs::FileSystemFromUri(uri);
  // The client must be shut down before the process ends, and before its own statics go: they exist
  // only now.
  static const int registered = std::atexit([] { arrow::fs::EnsureFinalized(); });
  CHECK(registered == 0);
  if (made.ok()) return {*made, aws_identity()};
  const std::string what = str("path: ", uri, ": ", made.status().message());
  if (made.status().IsInvalid())
    throw UsageError(what, "options are region=…, scheme=…, endpoint_override=…");
  throw SystemError(
      what, "does the bucket exist? Its region can be given: s3://bucket/…?region=eu-west-1");
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

std::vector<arrow::fs::FileInfo> list_objects(const Place& bucket, const std::string& folder,
                                              Depth depth, std::string_view action) {
  arrow::fs::FileSelector selector;
  selector.base_dir = folder.empty() ? bucket.path.bucket : str(bucket.path.bucket, "/", folder);
  selector.recursive = depth == Depth::all_below;
  selector.allow_not_found = true;
  auto found = value_of(bucket.system->GetFileInfo(selector), action, bucket, Access::list);
  if (found.empty()) require_bucket(action, bucket);
  std::erase_if(found, [](const arrow::fs::FileInfo& info) { return !info.IsFile(); });
  std::ranges::sort(found, {}, [](const arrow::fs::FileInfo& info) { return info.path(); });
  return found;
}

}  // namespace smelt
