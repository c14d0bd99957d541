// Google Cloud Storage by its JSON API: buckets, and what is in them with its checksums. The bytes
// go another way (io/filesystem/file.h).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/google_api.h"

namespace smelt {

struct StoredObject {
  std::string name;
  std::uint64_t size = 0;   // bytes
  std::string crc32c = {};  // as crc32c_text() has it; "" when it is not told
  std::string updated = {};
  std::string generation = {};  // of look(): which of its contents it is
};

// As Google writes a CRC-32C: base64 of its four bytes, the highest first.
std::string crc32c_text(std::uint32_t crc);

// Of Google's API.
std::string bucket_path(const std::string& bucket);
std::string object_path(const std::string& bucket, const std::string& object);

struct BucketSpec {
  std::string name;
  std::string location = {};       // "us-central1"; "" = Google's default, US
  std::string storage_class = {};  // "" = STANDARD
  bool uniform_access = true;      // one set of permissions for all of it
};

// UsageError "storage: …" for a name that Google refuses (its guidelines for bucket names).
void require_bucket_name(const std::string& name);

// Google's credentials, or anonymous: where the path is gs://anonymous@…, where an emulator is
// named and where there are no credentials, as store/ has it.
GoogleApi storage_connection(const std::string& path = "");

// One of each kind for all paths.
class StorageConnections {
 public:
  GoogleApi& of(const std::string& path);

 private:
  std::optional<GoogleApi> own_, nobodys_;
};

// UsageError when a bucket is not there or access to it is denied, SystemError for what else goes
// wrong.
class StorageApi {
 public:
  explicit StorageApi(GoogleApi& api) : api_(api) {}

  // Of a project, sorted.
  std::vector<std::string> buckets(const std::string& project);
  // UsageError also for a name that is taken, and a zone for a location.
  void make_bucket(const std::string& project, const BucketSpec& spec);
  // UsageError when there is something in it.
  void remove_bucket(const std::string& bucket);

  // The objects whose names begin with `prefix`, in order of name. Those with a further '/' behind
  // it are only in `folders` where all are not asked for: up to that '/'.
  struct Listing {
    std::vector<StoredObject> objects;
    std::vector<std::string> folders;
  };
  enum class Names { all, up_to_slash };
  Listing list(const std::string& bucket, const std::string& prefix, Names names);
  // Nothing where there is no such object.
  std::optional<StoredObject> look(const std::string& bucket, const std::string& object);
  // One that is not there is no error.
  void remove(const std::string& bucket, const std::vector<std::string>& objects);
  // Of look(); what was written over it since stays.
  void remove_seen(const std::string& bucket, const StoredObject& object);

  // Calls body(api, 0), …, body(api, count - 1) on up to so many threads, each with a connection of
  // its own; exceptions as of call_side_by_side().
  void side_by_side(std::size_t count, int at_once,
                    const std::function<void(StorageApi&, std::size_t)>& body);

 private:
  GoogleApi& api_;
};

}  // namespace smelt
