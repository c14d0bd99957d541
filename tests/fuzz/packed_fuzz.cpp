#include <arrow/util/compression.h>

#include "base/error.h"
#include "fuzz/target.h"
#include "io/filesystem/decompress.h"

namespace smelt {
namespace {

std::string packed(const std::string& text, arrow::Compression::type type) {
  const auto codec = arrow::util::Codec::Create(type).ValueOrDie();
  const auto compressor = codec->MakeCompressor().ValueOrDie();
  std::string out(text.size() + 1000, '\0');
  auto* to = reinterpret_cast<std::uint8_t*>(out.data());
  const auto* from = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::int64_t size =
      compressor->Compress(std::ssize(text), from, std::ssize(out), to).ValueOrDie().bytes_written;
  const auto end = compressor->End(std::ssize(out) - size, to + size).ValueOrDie();
  out.resize(static_cast<std::size_t>(size + end.bytes_written));
  return out;
}

}  // namespace

FuzzTarget fuzz_target() {
  using arrow::Compression;
  const std::string text = "One sentence, and one sentence more.\n\nAnother document.\n";
  return {.seeds = {packed(text, Compression::GZIP), packed(text, Compression::ZSTD),
                    packed(text, Compression::BZ2),
                    packed(text, Compression::GZIP) + packed("", Compression::GZIP)},
          .words = {"\x1f\x8b\x08", "BZh9", "1AY&SY", "\x28\xb5\x2f\xfd", std::string(8, '\0')},
          .repair = {},
          .memory_base = 1 << 20,  // buffers of the file
          .memory_factor = 64};
}

}  // namespace smelt

// The memory limit must hold however large the decompressed content is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  constexpr std::size_t kEnough = 4 << 20;  // a kilobyte may decompress to a gigabyte
  for (const char* name : {".gz", ".bz2", ".zst", ".txt"}) try {
      io::DecompressedFile file(input_file(data, size, name));
      char piece[1000];
      for (std::size_t total = 0, count = sizeof piece; count > 0 && total < kEnough;
           total += count)
        count = file.read(piece);
      CHECK(file.bytes_read() <= size, file.bytes_read());
    } catch (const UsageError&) {
    }
  return 0;
}
