// Google Cloud Storage by its JSON API: buckets and the list of their objects with checksums.
// io/filesystem/file.h reads and writes their content.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/google_api.h"

namespace smelt::cloud {

// An object in a bucket.
struct StoredObject {
  std::string name;
  std::uint64_t size = 0;   // bytes
  std::string crc32c = {};  // in the form of crc32c_text(); "" if unknown
  std::string updated = {};
  std::string generation = {};  // from look(): the version of its content
};

// Returns a CRC-32C as Google writes it: base64 of its four bytes in big-endian order.
std::string crc32c_text(std::uint32_t crc);

// Paths of Google's API.
std::string bucket_path(const std::string& bucket);
std::string object_path(const std::string& bucket, const std::string& object);

// A bucket to create.
struct BucketSpec {
  std::string name;
  std::string location = {};       // "us-central1"; "" = Google's default, US
  std::string storage_class = {};  // "" = STANDARD
  bool uniform_access = true;      // one set of permissions for the whole bucket
};

// Throws UsageError "storage: …" for a name that Google's guidelines for bucket names forbid.
void require_bucket_name(const std::string& name);

// Returns a client with the user's Google credentials. Returns an anonymous client for a path on
// gs://anonymous@…, if a storage emulator is used, and if there are no credentials.
GoogleApi storage_connection(const std::string& path = "");

// A cache with two connections of storage_connection(): an anonymous one for paths on
// gs://anonymous@…, and one for all other paths.
class StorageConnections {
 public:
  GoogleApi& of(const std::string& path);

 private:
  std::optional<GoogleApi> own_, nobodys_;
};

// Operations on buckets and objects. They throw UsageError if a bucket does not exist or access is
// denied, and SystemError for other failures.
class StorageApi {
 public:
  explicit StorageApi(GoogleApi& api) : api_(api) {}

  // Returns the buckets of a project, sorted.
  std::vector<std::string> buckets(const std::string& project);
  // Creates a bucket. Also throws UsageError if the name is taken or the location is a zone.
  void make_bucket(const std::string& project, const BucketSpec& spec);
  // Deletes a bucket. Also throws UsageError if it is not empty.
  void remove_bucket(const std::string& bucket);

  // Lists the objects whose names begin with `prefix`, in order of name. With Names::up_to_slash,
  // names with another '/' after the prefix are only reported as `folders`, up to that '/'.
  struct Listing {
    std::vector<StoredObject> objects;
    std::vector<std::string> folders;
  };
  enum class Names { all, up_to_slash };
  Listing list(const std::string& bucket, const std::string& prefix, Names names);
  // Returns an object's metadata, or nullopt if it does not exist.
  std::optional<StoredObject> look(const std::string& bucket, const std::string& object);
  // Deletes objects. Ignores missing ones.
  void remove(const std::string& bucket, const std::vector<std::string>& objects);
  // Deletes an object returned by look(), unless it was overwritten since.
  void remove_seen(const std::string& bucket, const StoredObject& object);

  // Calls body(api, 0) to body(api, count - 1) on up to `at_once` threads, each with its own
  // connection. Throws like call_side_by_side().
  void side_by_side(std::size_t count, int at_once,
                    const std::function<void(StorageApi&, std::size_t)>& body);

 private:
  GoogleApi& api_;
};

}  // namespace smelt::cloud
