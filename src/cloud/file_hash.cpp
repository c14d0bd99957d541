#include "cloud/file_hash.h"

#include <openssl/evp.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "store/archive.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/path.h"

namespace smelt {
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
  InputFile in(from);
  OutputFile out(to);
  std::string piece(std::size_t{1} << 20, '\0');
  while (const std::size_t n = in.read(piece)) out.write(std::string_view(piece).substr(0, n));
  out.commit();
}

namespace {

int copy_below(const std::string& from, const std::string& to, const std::string& path,
               const std::function<bool(const std::string&)>& skips) {
  int copied = 0;
  for (const std::string& name : list_folder(path.empty() ? from : join_path(from, path))) {
    const std::string one = path.empty() ? name : join_path(path, name);
    if (skips(one)) continue;
    if (is_folder(join_path(from, one))) {
      copied += copy_below(from, to, one, skips);
      continue;
    }
    copy_file(join_path(from, one), join_path(to, one));
    ++copied;
  }
  return copied;
}

// What the list says is there as it is wanted. Of all else it says so no more, and files that are
// not wanted are removed.
nlohmann::json drop_others(const std::string& list,
                           const std::map<std::string, std::string>& wanted) {
  using nlohmann::json;
  json before = exists(list) ? json::parse(read_file(list), nullptr, false) : json();
  if (!before.is_object()) before = json::object();
  json kept = json::object();
  for (const auto& [to, sum] : before.items())
    if (const auto found = wanted.find(to); found != wanted.end() && sum == found->second)
      kept[to] = sum;
  if (kept == before) return kept;
  write_file(list, kept.dump(1) + "\n");
  for (const auto& [to, sum] : before.items())
    if (!wanted.contains(to)) remove_file(to);
  return kept;
}

}  // namespace

int copy_once(const std::vector<StagedFile>& files, const std::string& list,
              const std::function<void(const std::string&)>& tell) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kListEvery(5);  // a bucket takes one write a second of an object
  std::map<std::string, std::string> wanted;
  for (const auto& [from, to, sum] : files) wanted[to] = sum.empty() ? file_sha256(from) : sum;
  nlohmann::json there = drop_others(list, wanted);
  const auto write = [&] { write_file(list, there.dump(1) + "\n"); };
  auto written = Clock::now();
  int copied = 0;
  for (const auto& [from, to, sum] : files) {
    if (there.contains(to) && exists(to)) continue;
    tell(str("copying ", from, " to ", to));
    copy_file(from, to);
    there[to] = wanted.at(to);
    ++copied;
    if (Clock::now() - written < kListEvery) continue;
    write();
    written = Clock::now();
  }
  if (copied > 0) write();
  return copied;
}

int copy_tree(const std::string& from, const std::string& to,
              const std::function<bool(const std::string&)>& skips) {
  return copy_below(from, to, "", skips);
}

std::string file_sha256(const std::string& path) {
  InputFile file(path);
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
  constexpr const char* kHint = "scripts/package makes one; --package FILE names it";
  if (!lower_case_name(path).ends_with(".tar.zst"))
    throw UsageError(str(path, " is no package: its name does not end in .tar.zst"), kHint);
  if (!exists(path)) throw UsageError(str("there is no package ", path), kHint);
  if (!holds_file(path, "smelt/bin/smelt"))
    throw UsageError(str(path, " is no package: it holds no smelt/bin/smelt"), kHint);
  return str(path, ", ", bytes_text(static_cast<double>(file_size(path))));
}

}  // namespace smelt
