#include "io/filesystem/decompress.h"

#include <arrow/util/compression.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "io/filesystem/path.h"

namespace smelt::io {
namespace {

constexpr std::size_t kPackedBytes = 1 << 18;

using arrow::Compression;

struct Packing {
  const char *format, *ending;
  std::string_view beginning;  // '?': any byte
  Compression::type codec;     // UNCOMPRESSED if smelt does not support this compression
  std::size_t at = 0;          // offset of these bytes in the file
};
using namespace std::string_view_literals;
constexpr Packing kPackings[] = {
    {"gzip", ".gz", "\x1f\x8b"sv, Compression::GZIP},
    {"bzip2", ".bz2", "BZh?1AY&SY"sv, Compression::BZ2},
    {"bzip2", ".bz2", "BZh?\x17\x72\x45\x38\x50\x90"sv, Compression::BZ2},  // an empty bzip2 file
    {"zstd", ".zst", "\x28\xb5\x2f\xfd"sv, Compression::ZSTD},
    {"xz", ".xz", "\xfd\x37zXZ\0"sv, Compression::UNCOMPRESSED},
    {"7z", ".7z", "7z\xbc\xaf\x27\x1c"sv, Compression::UNCOMPRESSED},
    {"lz4", ".lz4", "\x04\x22\x4d\x18"sv, Compression::UNCOMPRESSED},
    {"zip", ".zip", "PK\x03\x04"sv, Compression::UNCOMPRESSED},
    {"tar", ".tar", "ustar"sv, Compression::UNCOMPRESSED, 257}};

const Packing* packing_of_bytes(std::string_view head) {
  const auto same = [](char byte, char wanted) { return wanted == '?' || byte == wanted; };
  const auto* found = std::ranges::find_if(kPackings, [&](const Packing& p) {
    return head.size() >= p.at + p.beginning.size() &&
           std::ranges::equal(head.substr(p.at, p.beginning.size()), p.beginning, same);
  });
  return found == std::end(kPackings) ? nullptr : found;
}

const Packing* packing_of_name(const std::string& path) {
  const std::string name = lower_case_name(path);
  const auto* found =
      std::ranges::find_if(kPackings, [&](const Packing& p) { return name.ends_with(p.ending); });
  return found == std::end(kPackings) ? nullptr : found;
}

void check_known(const std::string& path, const Packing& packing) {
  if (packing.codec == Compression::UNCOMPRESSED)
    throw UsageError(str(path, ": ", packing.format, " files are not supported"),
                     "decompress it, or compress it with gzip, bzip2 or zstd");
}

}  // namespace

void check_packing(const std::string& path) {
  if (const Packing* packing = packing_of_name(path)) check_known(path, *packing);
}

void check_packing(const std::string& path, std::string_view head) {
  if (const Packing* packing = packing_of_bytes(head)) check_known(path, *packing);
}

DecompressedFile::DecompressedFile(const std::string& path, bool (*is_plain)(std::string_view head))
    : file_(path), buffer_(kPackedBytes) {
  refill();
  const std::string_view head(rest_.data(), rest_.size());
  if (is_plain != nullptr && is_plain(head)) return;
  const Packing* packing = packing_of_bytes(head);
  const bool begun = packing != nullptr;
  if (!begun) packing = packing_of_name(path);
  if (packing == nullptr) return;
  check_known(path, *packing);
  format_ = packing->format;
  if (!begun) fail(head.empty() ? "it is empty" : "its first bytes are those of another format");
  const auto codec = arrow::util::Codec::Create(packing->codec);
  CHECK(codec.ok(), codec.status().ToString());
  auto decompressor = (*codec)->MakeDecompressor();
  CHECK(decompressor.ok(), decompressor.status().ToString());
  decompressor_ = std::shared_ptr<arrow::util::Decompressor>(*decompressor);
}

DecompressedFile::~DecompressedFile() = default;

bool DecompressedFile::refill() {
  rest_ = std::span(buffer_).first(file_.read(buffer_));
  bytes_read_ += rest_.size();
  return !rest_.empty();
}

void DecompressedFile::fail(const std::string& what) const {
  const std::string place = unpacked_ > 0 ? str(" after ", unpacked_, " decompressed bytes") : "";
  throw UsageError(str(path(), ": damaged or truncated ", format_, " file: ", what, place),
                   str("copy or make the file again; `", format_, " -t` checks it"));
}

// Throws UsageError if zstd's error `message` means that the file needs a window of more than
// 128 MiB. Several files are decompressed at the same time, so larger windows would need too much
// memory.
void DecompressedFile::check_window(const std::string& message) const {
  if (message.find("requires too much memory") == std::string::npos) return;
  throw UsageError(str(path(), ": compressed by zstd with a window of more than 128 MiB (--long)"),
                   "decompress it with `zstd -d --long=31`, or compress it with --long=27");
}

std::size_t DecompressedFile::unpack(std::span<char> out) {
  const auto result = decompressor_->Decompress(
      std::ssize(rest_), reinterpret_cast<const std::uint8_t*>(rest_.data()), std::ssize(out),
      reinterpret_cast<std::uint8_t*>(out.data()));
  if (!result.ok()) {
    check_window(result.status().message());
    fail(result.status().message());
  }
  rest_ = rest_.subspan(static_cast<std::size_t>(result->bytes_read));
  const bool moved = result->bytes_read > 0 || result->bytes_written > 0;
  if (!moved && !decompressor_->IsFinished() && !rest_.empty()) fail("invalid data");
  more_ = moved && result->need_more_output;
  unpacked_ += static_cast<std::uint64_t>(result->bytes_written);
  return static_cast<std::size_t>(result->bytes_written);
}

// Skips zeros after a gzip member, as written by tapes and block devices. Returns whether there
// were zeros.
bool DecompressedFile::skip_padding() {
  const auto is_zero = [](char byte) { return byte == '\0'; };
  if (format_ != std::string_view("gzip") || !is_zero(rest_.front())) return false;
  do
    rest_ = rest_.subspan(
        static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_zero) - rest_.begin()));
  while (rest_.empty() && refill());
  if (!rest_.empty()) fail("other bytes after the zeros at its end");
  return true;
}

std::size_t DecompressedFile::read(std::span<char> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    if (rest_.empty() && !more_ && !refill()) {
      if (format_ != nullptr && !decompressor_->IsFinished()) fail("it ends too early");
      break;
    }
    if (format_ == nullptr) {
      const std::size_t count = std::min(rest_.size(), out.size() - done);
      std::memcpy(out.data() + done, rest_.data(), count);
      rest_ = rest_.subspan(count);
      done += count;
      continue;
    }
    if (decompressor_->IsFinished()) {
      if (skip_padding()) continue;
      if (!decompressor_->Reset().ok()) fail("cannot read the next member");
    }
    done += unpack(out.subspan(done));
  }
  return done;
}

}  // namespace smelt::io
