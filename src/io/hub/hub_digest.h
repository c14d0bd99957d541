// Checksums of files on the Hub: SHA-256 of files in large-file storage, and git's SHA-1 of others.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // EVP_MD_CTX of OpenSSL

namespace smelt::io {

// An incremental SHA-256 or SHA-1 hash.
class Hasher {
 public:
  explicit Hasher(bool is_sha256);
  void add(std::string_view bytes);
  // Returns the digest in hexadecimal digits. Call it once, after the last add().
  std::string hex();

 private:
  std::unique_ptr<::evp_md_ctx_st, void (*)(::evp_md_ctx_st*)> context_;
};

// The checksum of a file: its git object name, or its SHA-256 if it is in large-file storage.
struct HubDigest {
  bool is_sha256 = false;
  std::string hex;

  friend bool operator==(const HubDigest&, const HubDigest&) = default;
};

// Returns the SHA-256 of a local file, or else its name as a git blob: SHA-1 of "blob <size>\0" and
// its content. Throws UsageError or SystemError if it cannot be read.
HubDigest digest_of_file(const std::string& path, bool is_sha256);
HubDigest digest_of_text(std::string_view text, bool is_sha256);

// Returns whether the text is a SHA-1 or SHA-256 in hexadecimal digits, so that it is safe as a
// file name.
bool is_digest(std::string_view hex);

}  // namespace smelt::io
