// Checksums of files on the Hub: SHA-256 of files in large-file storage, and git's SHA-1 of others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smelt::io {

// The checksum of a file: its git object name, or its SHA-256 if it is in large-file storage.
struct HubDigest {
  bool is_sha256 = false;
  std::string hex;

  friend bool operator==(const HubDigest&, const HubDigest&) = default;
};

// Returns the SHA-256 of a local file in hexadecimal digits. Throws UsageError or SystemError if it
// cannot be read.
std::string sha256_of_file(const std::string& path);
// Returns the name of a file as a git blob: SHA-1 of "blob <size>\0" and its content.
std::string git_sha1_of_file(const std::string& path);
std::string sha256_of_text(std::string_view text);
std::string git_sha1_of_text(std::string_view text);

// Returns the checksum of this kind of a local file.
HubDigest digest_of_file(const std::string& path, bool is_sha256);

// Returns whether the text is a SHA-1 or SHA-256 in hexadecimal digits, so that it is safe as a
// file name.
bool is_digest(std::string_view hex);

}  // namespace smelt::io
