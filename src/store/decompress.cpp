#include "store/decompress.h"

#include <arrow/util/compression.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

using arrow::Compression;

}  // namespace

DecompressedFile::DecompressedFile(const std::string& path) : file_(path), buffer_(kBufferBytes) {
  refill();
  const std::string_view head(rest_.data(), std::min<std::size_t>(rest_.size(), 4));
  Compression::type type = Compression::UNCOMPRESSED;
  if (head.starts_with("\x1f\x8b")) {
    format_ = "gzip";
    type = Compression::GZIP;
  } else if (head == "\x28\xb5\x2f\xfd") {
    format_ = "zstd";
    type = Compression::ZSTD;
  }
  const std::string name = path_name(path);
  for (const auto& [ending, promised] : {std::pair{".gz", "gzip"}, {".zst", "zstd"}})
    if (format_ == nullptr && name.ends_with(ending)) {
      format_ = promised;
      fail(rest_.empty() ? "it is empty" : "it does not begin as one");
    }
  if (format_ == nullptr) return;
  const auto codec = arrow::util::Codec::Create(type);
  CHECK(codec.ok(), codec.status().ToString());
  auto decompressor = (*codec)->MakeDecompressor();
  CHECK(decompressor.ok(), decompressor.status().ToString());
  decompressor_ = std::shared_ptr<arrow::util::Decompressor>(*decompressor);
}

DecompressedFile::~DecompressedFile() = default;

bool DecompressedFile::refill() {
  rest_ = std::span(buffer_).first(file_.read(buffer_));
  return !rest_.empty();
}

void DecompressedFile::fail(const std::string& what) const {
  throw UsageError(str(path(), ": not a whole ", format_, " file: ", what),
                   str("copy or make the file again; `", format_, " -t` checks it"));
}

std::size_t DecompressedFile::unpack(std::span<char> out) {
  const auto result = decompressor_->Decompress(
      std::ssize(rest_), reinterpret_cast<const std::uint8_t*>(rest_.data()), std::ssize(out),
      reinterpret_cast<std::uint8_t*>(out.data()));
  if (!result.ok()) fail(result.status().message());
  rest_ = rest_.subspan(static_cast<std::size_t>(result->bytes_read));
  const bool moved = result->bytes_read > 0 || result->bytes_written > 0;
  if (!moved && !decompressor_->IsFinished() && !rest_.empty()) fail("its bytes make no sense");
  more_ = moved && result->need_more_output;
  return static_cast<std::size_t>(result->bytes_written);
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
    if (decompressor_->IsFinished() && !decompressor_->Reset().ok()) fail("another member");
    done += unpack(out.subspan(done));
  }
  return done;
}

}  // namespace smelt
