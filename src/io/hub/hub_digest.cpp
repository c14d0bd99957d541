#include "io/hub/hub_digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include "base/error.h"

namespace smelt::io {
namespace {

using DigestFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::string git_header(std::uint64_t size) { return str("blob ", size, std::string(1, '\0')); }

void add_file(Hasher& hasher, std::FILE* file, const std::string& path) {
  std::vector<char> block(std::size_t{1} << 20);
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), file))
    hasher.add({block.data(), count});
  if (std::ferror(file) != 0) throw_errno("read", path, errno);
}

DigestFile open_for_digest(const std::string& path) {
  DigestFile file(std::fopen(path.c_str(), "rbe"), &std::fclose);
  if (file == nullptr) throw_errno("open", path, errno);
  return file;
}

}  // namespace

Hasher::Hasher(bool is_sha256) : context_(::EVP_MD_CTX_new(), &::EVP_MD_CTX_free) {
  const EVP_MD* kind = is_sha256 ? ::EVP_sha256() : ::EVP_sha1();
  CHECK(context_ != nullptr && ::EVP_DigestInit_ex(context_.get(), kind, nullptr) == 1);
}

void Hasher::add(std::string_view bytes) {
  CHECK(::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Hasher::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  CHECK(::EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1);
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (unsigned i = 0; i < size; ++i)
    out.append({kDigits[digest[i] >> 4], kDigits[digest[i] & 15]});
  return out;
}

HubDigest digest_of_file(const std::string& path, bool is_sha256) {
  const DigestFile file = open_for_digest(path);
  Hasher hasher(is_sha256);
  if (!is_sha256) {
    if (::fseeko(file.get(), 0, SEEK_END) != 0) throw_errno("read", path, errno);
    hasher.add(git_header(static_cast<std::uint64_t>(::ftello(file.get()))));
    std::rewind(file.get());
  }
  add_file(hasher, file.get(), path);
  return {is_sha256, hasher.hex()};
}

HubDigest digest_of_text(std::string_view text, bool is_sha256) {
  Hasher hasher(is_sha256);
  if (!is_sha256) hasher.add(git_header(text.size()));
  hasher.add(text);
  return {is_sha256, hasher.hex()};
}

bool is_digest(std::string_view hex) {
  return (hex.size() == 40 || hex.size() == 64) && std::ranges::all_of(hex, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace smelt::io
