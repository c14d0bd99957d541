#include "base/error.h"
#include "fuzz/target.h"
#include "io/formats/checkpoint_state.h"
#include "io/formats/crc32c.h"
#include "io/formats/little_endian.h"
#include "io/formats/sstable.h"
#include "io/formats/tensor_bundle.h"
#include "io/formats/wire.h"

namespace smelt {
namespace {

io::BundleIndex with_parts() {
  const io::BundleSlice first{{{0, 2}, {0, -1}}}, second{{{2, 1}, {0, -1}}};
  io::BundleEntry whole{.type = 1, .dims = {3, 2}, .slices = {first, second}};
  return {.shards = 2,
          .tensors = {{"bert/x", {.type = 9}}, {"v", whole}},
          .parts = {{io::bundle_part_key("v", first), {.type = 1, .dims = {2, 2}, .size = 16}},
                    {io::bundle_part_key("v", second),
                     {.type = 1, .dims = {1, 2}, .shard = 1, .size = 8}}}};
}

// Recomputes the checksums of the blocks that the footer refers to, and of the data block.
void repair(std::string& bytes) {
  if (bytes.size() < 48) return;
  const std::size_t end = bytes.size() - 48;
  const std::string footer = bytes.substr(end, 40);
  try {
    io::WireReader reader(footer);
    const auto mend = [&](std::uint64_t offset, std::uint64_t size) {
      if (size > end || offset > end - size || end - size - offset < 5) return;
      const auto crc = io::crc32c(std::string_view(bytes).substr(offset, size + 1));
      const auto said = io::to_little_endian(io::mask_crc(crc));
      bytes.replace(offset + size + 1, 4, said.data(), said.size());
    };
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t offset = reader.raw_varint();
      mend(offset, reader.raw_varint());
    }
    for (std::uint64_t size = 0; size < std::min<std::size_t>(end, 400); ++size)
      if (end > size + 5 && bytes[size] == '\0') {
        // The data block is at the beginning of the file and ends with its number of restarts.
        const std::string_view head = std::string_view(bytes).substr(0, size);
        if (head.size() > 8 && head.ends_with(std::string_view("\1\0\0\0", 4))) mend(0, size);
      }
  } catch (const UsageError&) {
  }
}

}  // namespace

FuzzTarget fuzz_target() {
  io::BundleIndex plain;
  plain.tensors.emplace("bert/pooler/dense/bias",
                        io::BundleEntry{.type = 1, .dims = {2}, .size = 8});
  return {.seeds = {io::bundle_index_bytes(with_parts()), io::bundle_index_bytes(plain),
                    io::sstable_bytes({{"", ""}, {"a", "b"}, {"ab", ""}}, 1),
                    io::checkpoint_state_text({.newest = "a\"b", .all = {"x", "a\"b"}})},
          .words = {"\x3a\x06\x0a\x02\x10\x02", "\x12\x02\x08\x02", "\x28\x08", "\x80\x7F",
                    "\xFF\xFF\xFF\xFF\x0F", "model_checkpoint_path: \""},
          .repair = repair,
          .memory_base = 1 << 16,
          .memory_factor = 512};
}

}  // namespace smelt

// Writing and reading the index again must give the same index.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string_view text = text_of(data, size);
  try {
    const io::BundleIndex index = io::parse_bundle_index(text, "input");
    const std::string again = io::bundle_index_bytes(index);
    const io::BundleIndex read = io::parse_bundle_index(again, "again");
    CHECK(read.tensors.size() == index.tensors.size() && read.parts.size() == index.parts.size());
    CHECK(io::bundle_index_bytes(read) == again);
  } catch (const UsageError&) {
  }
  try {
    const io::CheckpointState state = io::parse_checkpoint_state(text, "input");
    const io::CheckpointState again =
        io::parse_checkpoint_state(io::checkpoint_state_text(state), "again");
    CHECK(again.newest == state.newest && again.all == state.all);
  } catch (const UsageError&) {
  }
  return 0;
}
