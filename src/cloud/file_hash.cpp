#include "cloud/file_hash.h"

#include <openssl/evp.h>

#include <array>
#include <memory>

#include "base/error.h"
#include "base/progress.h"
#include "io/filesystem/archive.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cloud {
namespace {

class Sha256 {
 public:
  Sha256() { CHECK(::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) == 1); }
  void add(std::string_view bytes) {
    CHECK(::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
  }
  std::string digits() {
    std::array<unsigned char, 32> sum{};
    CHECK(::EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr) == 1);
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (const unsigned char byte : sum) {
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
    return out;
  }

 private:
  std::unique_ptr<::EVP_MD_CTX, decltype(&::EVP_MD_CTX_free)> context_{::EVP_MD_CTX_new(),
                                                                       &::EVP_MD_CTX_free};
};

}  // namespace

void copy_file(const std::string& from, const std::string& to) {
  io::InputFile in(from);
  io::OutputFile out(to);
  std::string piece(std::size_t{1} << 20, '\0');
  while (const std::size_t n = in.read(piece)) out.write(std::string_view(piece).substr(0, n));
  out.commit();
}

std::string file_sha256(const std::string& path) {
  io::InputFile file(path);
  Sha256 sum;
  std::string piece(std::size_t{1} << 20, '\0');
  while (const std::size_t n = file.read(piece)) sum.add(std::string_view(piece).substr(0, n));
  return sum.digits();
}

std::string text_sha256(const std::string& text) {
  Sha256 sum;
  sum.add(text);
  return sum.digits();
}

std::string package_text(const std::string& path) {
  constexpr const char* kHint = "create one with scripts/package, and give it with --package FILE";
  if (!io::lower_case_name(path).ends_with(".tar.zst"))
    throw UsageError(str(path, " is not a package: its name must end in .tar.zst"), kHint);
  if (!io::exists(path)) throw UsageError(str("package ", path, " does not exist"), kHint);
  if (!io::holds_file(path, "smelt/bin/smelt"))
    throw UsageError(str(path, " is not a package: it has no smelt/bin/smelt"), kHint);
  return str(path, ", ", bytes_text(static_cast<double>(io::file_size(path))));
}

}  // namespace smelt::cloud
