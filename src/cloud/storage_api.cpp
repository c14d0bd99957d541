#include "cloud/storage_api.h"

#include <algorithm>
#include <array>
#include <regex>

#include "base/error.h"
#include "io/credentials/json_text.h"
#include "io/credentials/jwt.h"
#include "io/credentials/refusal.h"

namespace smelt::cloud {
namespace {

constexpr const char* kAnonymous = "gs://anonymous@";
constexpr int kMostStoragePages = 1'000'000;  // limit in case a server never ends the list

[[noreturn]] void throw_storage_fault(const ApiFault& fault, const std::string& what,
                                      const std::string& bucket) {
  const std::string said = str("storage: ", what, ": ", fault.message);
  if (fault.status == 404 && !bucket.empty())
    throw UsageError(
        str("storage: ", what, ": bucket ", bucket, " does not exist"),
        str("list the project's buckets: smelt storage ls; or create it: smelt storage mb gs://",
            bucket));
  if (const auto hint = io::refusal_hint(fault.message, "storage")) throw UsageError(said, *hint);
  if (fault.status == 403)
    throw UsageError(
        said, bucket.empty()
                  ? "ask for roles/storage.admin for the account that smelt cloud whoami shows"
                  : str("gcloud storage buckets add-iam-policy-binding gs://", bucket,
                        " --member=WHO --role=roles/storage.admin, with WHO as shown by "
                        "smelt cloud whoami"));
  if (fault.status == 400) throw UsageError(said);
  throw SystemError(said, "try again");
}

// Passes all pages of a list to `take`.
template <class Take>
void list_pages(GoogleApi& api, ApiCall call, const std::string& what, const std::string& bucket,
                const Take& take) {
  const auto query = call.query;
  for (int page = 0; page < kMostStoragePages; ++page) {
    const ApiAnswer answer = api.call(call);
    if (answer.fault) throw_storage_fault(*answer.fault, what, bucket);
    take(answer.body);
    const std::string next = io::text_in(answer.body, "nextPageToken");
    if (next.empty()) return;
    call.query = query;
    call.query.emplace_back("pageToken", next);
  }
  throw SystemError(str("storage: ", what, ": the server's list has too many pages"));
}

// Returns an object's size in bytes. Google writes it as a string.
std::uint64_t size_in(const Json& object) {
  if (object.contains("size") && object.at("size").is_number_unsigned())
    return object.at("size").get<std::uint64_t>();
  const std::string text = io::text_in(object, "size");
  const bool is_number = !text.empty() && text.size() < 20 &&
                         text.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number)
    throw SystemError(
        str("storage: ", io::text_in(object, "name"), ": '", text, "' is not a size"));
  return std::stoull(text);
}

void require_location(const std::string& location) {
  static const std::regex zone("[A-Za-z]+-[A-Za-z]+[0-9]+-[a-z]");
  if (std::regex_match(location, zone))
    throw UsageError(str("storage: ", location, " is a zone, expected a region"),
                     str("-l ", location.substr(0, location.rfind('-'))));
}

}  // namespace

std::string bucket_path(const std::string& bucket) {
  return "/storage/v1/b/" + io::percent_encoded(bucket);
}

std::string object_path(const std::string& bucket, const std::string& object) {
  return str(bucket_path(bucket), "/o/", io::percent_encoded(object));
}

std::string crc32c_text(std::uint32_t crc) {
  std::array<char, 4> bytes{};
  for (int i = 0; i < 4; ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<char>(crc >> (24 - 8 * i));
  return io::base64({bytes.data(), bytes.size()});
}

void require_bucket_name(const std::string& name) {
  static const std::regex form("[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?");
  static const std::regex address("[0-9]+(\\.[0-9]+){3}");
  const auto parts = split(name, '.');
  const bool good = name.size() >= 3 && name.size() <= 222 && !std::regex_match(name, address) &&
                    !name.starts_with("goog") && name.find("google") == std::string::npos &&
                    std::ranges::all_of(parts, [](std::string_view part) {
                      return std::regex_match(part.begin(), part.end(), form);
                    });
  if (good) return;
  std::string near = lower_case(name);
  for (char& c : near)
    if (c == ' ' || c == '.' || c == '/') c = '-';
  const bool is_near = near.size() >= 3 && near != name && std::regex_match(near, form) &&
                       near.find("goog") == std::string::npos;
  throw UsageError(
      str("storage: the bucket name '", name, "' is not allowed: expected 3 to 63 of a-z, 0-9, ",
          "'-' and '_', with a letter or digit first and last, without 'google'"),
      str("use a name such as gs://", is_near ? near : "my-project-bert"));
}

GoogleApi storage_connection(const std::string& path) {
  if (path.starts_with(kAnonymous)) return GoogleApi(TokenSource(io::no_credentials(kAnonymous)));
  if (!io::environment(kStorageEmulator).empty())
    return GoogleApi(TokenSource(io::no_credentials(kStorageEmulator)));
  if (const auto file = io::find_credential_file())
    return GoogleApi(TokenSource(io::credentials_in(*file)));
  if (auto machine = io::machine_credentials()) return GoogleApi(TokenSource(std::move(machine)));
  return GoogleApi(TokenSource(io::no_credentials("no credentials were found")));
}

GoogleApi& StorageConnections::of(const std::string& path) {
  auto& connection = path.starts_with(kAnonymous) ? nobodys_ : own_;
  if (!connection) connection.emplace(storage_connection(path));
  return *connection;
}

std::vector<std::string> StorageApi::buckets(const std::string& project) {
  std::vector<std::string> out;
  list_pages(api_, {.service = "storage", .path = "/storage/v1/b", .query = {{"project", project}}},
             str("the buckets of project ", project), "", [&](const Json& page) {
               for (const Json& item : io::array_in(page, "items"))
                 out.push_back(io::text_in(item, "name"));
             });
  std::ranges::sort(out);
  return out;
}

void StorageApi::make_bucket(const std::string& project, const BucketSpec& spec) {
  require_bucket_name(spec.name);
  require_location(spec.location);
  Json body{
      {"name", spec.name},
      {"iamConfiguration", {{"uniformBucketLevelAccess", {{"enabled", spec.uniform_access}}}}}};
  if (!spec.location.empty()) body["location"] = spec.location;
  if (!spec.storage_class.empty()) body["storageClass"] = spec.storage_class;
  const ApiAnswer made = api_.call({.method = "POST",
                                    .service = "storage",
                                    .path = "/storage/v1/b",
                                    .query = {{"project", project}},
                                    .body = body});
  if (!made.fault) return;
  if (made.fault->status != 409)
    throw_storage_fault(*made.fault, str("bucket ", spec.name, " in project ", project), "");
  const ApiAnswer there = api_.call({.service = "storage", .path = bucket_path(spec.name)});
  if (!there.fault)
    throw UsageError(str("storage: bucket ", spec.name, " already exists, in ",
                         lower_case(io::text_in(there.body, "location"))),
                     str("use it: smelt storage ls gs://", spec.name));
  throw UsageError(str("storage: the bucket name ", spec.name,
                       " is taken; bucket names are shared by all Google Cloud users"),
                   str("use another name, such as gs://", project, "-", spec.name));
}

void StorageApi::remove_bucket(const std::string& bucket) {
  const ApiAnswer answer =
      api_.call({.method = "DELETE", .service = "storage", .path = bucket_path(bucket)});
  if (!answer.fault) return;
  if (answer.fault->status == 409)
    throw UsageError(str("storage: bucket ", bucket, " is not empty"),
                     str("smelt storage rm -r gs://", bucket, " --all"));
  throw_storage_fault(*answer.fault, "delete", bucket);
}

StorageApi::Listing StorageApi::list(const std::string& bucket, const std::string& prefix,
                                     Names names) {
  ApiCall call{.service = "storage",
               .path = bucket_path(bucket) + "/o",
               .query = {{"fields", "items(name,size,crc32c,updated),prefixes,nextPageToken"}}};
  if (!prefix.empty()) call.query.emplace_back("prefix", prefix);
  if (names == Names::up_to_slash) call.query.emplace_back("delimiter", "/");
  Listing out;
  list_pages(api_, call, str("gs://", bucket, "/", prefix), bucket, [&](const Json& page) {
    for (const Json& item : io::array_in(page, "items"))
      out.objects.push_back({io::text_in(item, "name"), size_in(item), io::text_in(item, "crc32c"),
                             io::text_in(item, "updated")});
    for (const Json& folder : io::array_in(page, "prefixes"))
      if (folder.is_string()) out.folders.push_back(folder.get<std::string>());
  });
  std::ranges::sort(out.objects, {}, &StoredObject::name);
  std::ranges::sort(out.folders);
  return out;
}

std::optional<StoredObject> StorageApi::look(const std::string& bucket, const std::string& object) {
  const ApiAnswer answer = api_.call({.service = "storage", .path = object_path(bucket, object)});
  if (answer.fault && answer.fault->status == kNotFound) return std::nullopt;
  if (answer.fault) throw_storage_fault(*answer.fault, str("gs://", bucket, "/", object), bucket);
  return StoredObject{object, size_in(answer.body), io::text_in(answer.body, "crc32c"),
                      io::text_in(answer.body, "updated"), io::text_in(answer.body, "generation")};
}

void StorageApi::remove(const std::string& bucket, const std::vector<std::string>& objects) {
  call_side_by_side(api_, objects.size(), [&](GoogleApi& api, std::size_t i) {
    const ApiAnswer answer = api.call(
        {.method = "DELETE", .service = "storage", .path = object_path(bucket, objects[i])});
    if (answer.fault && answer.fault->status != kNotFound)
      throw_storage_fault(*answer.fault, str("delete gs://", bucket, "/", objects[i]), bucket);
  });
}

void StorageApi::remove_seen(const std::string& bucket, const StoredObject& object) {
  const ApiAnswer answer = api_.call({.method = "DELETE",
                                      .service = "storage",
                                      .path = object_path(bucket, object.name),
                                      .query = {{"ifGenerationMatch", object.generation}}});
  if (answer.fault && answer.fault->status != kNotFound && answer.fault->status != kOtherGeneration)
    throw_storage_fault(*answer.fault, str("delete gs://", bucket, "/", object.name), bucket);
}

void StorageApi::side_by_side(std::size_t count, int at_once,
                              const std::function<void(StorageApi&, std::size_t)>& body) {
  call_side_by_side(
      api_, count,
      [&](GoogleApi& api, std::size_t i) {
        StorageApi own(api);
        body(own, i);
      },
      at_once);
}

}  // namespace smelt::cloud
