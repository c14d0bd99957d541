// Opened checkpoints, which read and verify a slice only when it is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/str.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class OpenedCheckpoint : public testing::Test {
 protected:
  OpenedCheckpoint() {
    const auto bytes = [](const std::vector<std::int32_t>& values) {
      return std::as_bytes(std::span(values));
    };
    SlicedTensors tensors;
    tensors["b"] = {{compiler::DType::s32, {3}}, {{{0}, {{compiler::DType::s32, {3}}, bytes(b_)}}}};
    tensors["w"] = {{compiler::DType::s32, {4, 2}},
                    {{{0, 0}, {{compiler::DType::s32, {2, 2}}, bytes(top_)}},
                     {{2, 0}, {{compiler::DType::s32, {2, 2}}, bytes(bottom_)}}}};
    save_sliced_checkpoint(dir_.path(), 10, tensors, {});
  }
  std::string file(const std::string& name) const { return dir_.file("checkpoint-10/" + name); }
  SlicedCheckpoint opened() const { return open_sliced_checkpoint(dir_.path(), 10); }
  static std::vector<std::int32_t> values(const SlicedCheckpoint& opened, const char* name) {
    Scratch scratch;
    return io::tensor_values<std::int32_t>(whole(opened.tensors.at(name), scratch));
  }
  // Changes the manifest and writes the commit marker that fits it.
  void change_manifest(const std::function<void(Json&)>& change) const {
    Json manifest = Json::parse(io::read_file(file("manifest.json")));
    change(manifest);
    io::write_file(file("manifest.json"), manifest.dump());
    io::write_file(file("COMMIT"), commit_text(manifest.dump()));
  }

  const std::string shard_ = "tensors-00000-of-00001.safetensors";
  const std::vector<std::int32_t> b_{1, 2, 3}, top_{4, 5, 6, 7}, bottom_{8, 9, 10, 11};
  TempDir dir_;
};

TEST_F(OpenedCheckpoint, ReturnsWhatWasSaved) {
  EXPECT_EQ(values(opened(), "b"), b_);
  EXPECT_EQ(values(opened(), "w"), (std::vector<std::int32_t>{4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(OpenedCheckpoint, DetectsADamagedSliceWhenItIsRead) {
  std::string bytes = io::read_file(file(shard_));
  bytes.back() ^= 1;
  io::write_file(file(shard_), bytes);
  const SlicedCheckpoint checkpoint = opened();
  EXPECT_EQ(values(checkpoint, "b"), b_);
  EXPECT_THAT(error_of<DamagedCheckpoint>([&] { values(checkpoint, "w"); }),
              AllOf(HasSubstr(str("'w[2:4,0:2]' of ", shard_, " is damaged: its crc32c is ")),
                    HasSubstr("\n  hint: restore this directory from a copy, or remove it")));
}

TEST_F(OpenedCheckpoint, DetectsEveryChangedByte) {
  const std::string bytes = io::read_file(file(shard_));
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] ^= 1;
    io::write_file(file(shard_), changed);
    const auto read = [&] {
      const SlicedCheckpoint checkpoint = opened();
      for (const char* name : {"b", "w"}) values(checkpoint, name);
    };
    EXPECT_THROW(read(), DamagedCheckpoint) << at;
  }
  io::write_file(file(shard_), bytes.substr(1));
  EXPECT_THAT(error_of<DamagedCheckpoint>([&] { opened(); }),
              HasSubstr(str(shard_, " has ", bytes.size() - 1, " bytes, but the manifest lists ")));
}

TEST_F(OpenedCheckpoint, LoadsCheckpointsOfEarlierVersionsEagerly) {
  change_manifest([](Json& manifest) { manifest["files"][0].erase("pieces_crc32c"); });
  for (const auto& [name, tensor] : opened().tensors)
    for (const TensorSlice& slice : tensor.slices) EXPECT_FALSE(slice.put) << name;
  change_manifest([](Json& manifest) { manifest["files"][0]["pieces_crc32c"] = Json::object(); });
  EXPECT_THAT(error_of<DamagedCheckpoint>([&] { opened(); }),
              HasSubstr(str("manifest.json does not list 'b' of ", shard_)));
}

}  // namespace
}  // namespace smelt::checkpoint
