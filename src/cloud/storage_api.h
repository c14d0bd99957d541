// Google Cloud Storage by its JSON API: buckets, and what is in them with its checksums. The bytes
// go another way (store/file.h).
#pragma once

#include <cstdint>
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
};

// As Google writes a CRC-32C: base64 of its four bytes, the highest first.
std::string crc32c_text(std::uint32_t crc);

// Of Google's API.
std::string bucket_path(const std::string& bucket);

struct BucketSpec {
  std::string name;
  std::string location = {};       // "us-central1"; "" = Google's default, US
  std::string storage_class = {};  // "" = STANDARD
  bool uniform_access = true;      // one set of permissions for all of it
};

// UsageError "storage: …" for a name that Google refuses (its guidelines for bucket names).
void require_bucket_name(const std::string& name);

// Google's credentials, or anonymous: where one of the paths is gs://anonymous@…, where an emulator
// is named and where there are no credentials, as store/ has it.
GoogleApi storage_connection(const std::vector<std::string>& paths);

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
  // One that is not there is no error.
  void remove(const std::string& bucket, const std::vector<std::string>& objects);

 private:
  GoogleApi& api_;
};

}  // namespace smelt
