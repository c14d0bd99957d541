#include "base/error.h"
#include "fuzz/target.h"
#include "io/formats/snapshot.h"
#include "support/snapshots.h"

namespace smelt {
namespace {

constexpr io::SnapshotType kTypes[] = {io::SnapshotType::int64, io::SnapshotType::int32,
                                       io::SnapshotType::uint16, io::SnapshotType::uint8,
                                       io::SnapshotType::uint64};

}  // namespace

FuzzTarget fuzz_target() {
  TestSnapshot snapshot = dealt_out(0, 3, 2);
  snapshot.types = {9, 3};
  return {.seeds = {snapshot_metadata(dealt_out(0, 3, 2)), snapshot_metadata(snapshot),
                    tensor_message(9, true, {7}), tensor_message(3, false, {1, 2, 3}),
                    tensor_message(17, false, {})},
          .words = {"\x12\x00\x22\x08", "\x08\x09", "\xc0\x3e\x01"},
          .repair = {},
          .memory_base = 8192,
          .memory_factor = 16};
}

}  // namespace smelt

// Parses the input as a folder's metadata, and as a record's tensor, once and twice in a row.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace smelt;
  const std::string_view text = text_of(data, size);
  try {
    const io::SnapshotMetadata metadata = io::parse_snapshot_metadata(text, "input");
    CHECK(!metadata.run.empty());
  } catch (const UsageError&) {
  }
  try {
    io::check_snapshot_packing(text, "input");
  } catch (const UsageError&) {
  }
  for (const io::SnapshotType type : kTypes) {
    try {
      io::TokenTensors tensors(type);
      std::vector<std::int32_t> first, both;
      tensors.append(text, {"input", 0}, first);
      both = first;
      tensors.append(text, {"input", size}, both);
      CHECK(both.size() == 2 * first.size(), both.size());
      CHECK(!tensors.scalar() || first.size() == 1, first.size());
    } catch (const UsageError&) {
    }
  }
  return 0;
}
