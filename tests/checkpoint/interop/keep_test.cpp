// Checkpoints that are kept when older ones are removed, and the fallback from a damaged checkpoint
// to the one before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/layout.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "support/captured_log.h"
#include "support/paths.h"

namespace smelt::checkpoint {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class KeepTest : public testing::Test {
 protected:
  // Saves a checkpoint with two tensor files.
  void save(std::int64_t step, const SaveOptions& options = {}) const {
    const std::vector<float> values(1000, static_cast<float>(step));
    const io::TensorView view{{compiler::DType::f32, {1000}}, std::as_bytes(std::span(values))};
    SaveOptions two = options;
    two.shard_bytes = 4000;
    save_checkpoint(dir_.path(), step, {{"a", view}, {"b", view}}, {}, two);
  }
  std::string file(const std::string& name) const { return dir_.file("checkpoint-20/" + name); }

  const TempDir dir_;
  const std::string kept_ = dir_.file("save");
  const std::string second_ = "tensors-00001-of-00002.safetensors";
};

TEST_F(KeepTest, KeptCheckpointSharesBytesAndOutlivesTheOriginal) {
  save(10);
  keep_checkpoint(dir_.path(), 10, kept_, {.max_to_keep = 0});
  EXPECT_TRUE(fs::equivalent(dir_.file("checkpoint-10/COMMIT"), kept_ + "/checkpoint-10/COMMIT"));
  keep_checkpoint(dir_.path(), 10, kept_, {.max_to_keep = 0});  // a resumed run keeps it again
  save(20, {.max_to_keep = 1});
  EXPECT_THAT(checkpoint_steps(dir_.path()), ElementsAre(20));
  const Checkpoint kept = load_checkpoint(kept_, 10);
  EXPECT_EQ(io::tensor_values<float>(kept.tensors.at("b")), std::vector<float>(1000, 10));
}

// Simulates a kill between the two renames of a save that replaces a checkpoint of the same step.
TEST_F(KeepTest, RecoversCheckpointsFromAnInterruptedReplacement) {
  const auto at = [&](const char* suffix) { return dir_.file(str("checkpoint-20", suffix)); };
  for (const bool has_new : {true, false})
    for (const bool by_next_save : {true, false}) {
      save(10);
      save(20);
      fs::copy(at(""), at(".replaced"));
      fs::rename(at(""), at(".new"));
      if (!has_new) fs::remove(at(".new/COMMIT"));
      EXPECT_EQ(latest_checkpoint(dir_.path()), 10);
      if (by_next_save)
        save(5);
      else
        take_back_checkpoints(dir_.path());
      EXPECT_EQ(load_latest_checkpoint(dir_.path())->step, 20);
      save(5);
      EXPECT_THAT(io::list_folder(dir_.path()),
                  ElementsAre("checkpoint-10", "checkpoint-20", "checkpoint-5"));
      remove_checkpoint(at(""));
    }
}

TEST_F(KeepTest, FallsBackToTheOlderCheckpointForAnyDamage) {
  const std::vector<std::pair<std::string, std::function<void()>>> damages{
      {second_ + " has 2000 bytes", [&] { fs::resize_file(file(second_), 2000); }},
      {second_ + " has 0 bytes", [&] { fs::resize_file(file(second_), 0); }},
      {second_ + " is missing", [&] { fs::remove(file(second_)); }},
      {"manifest.json is missing", [&] { fs::remove(file("manifest.json")); }},
      {"manifest.json is damaged", [&] { fs::resize_file(file("manifest.json"), 50); }},
      {"manifest.json is damaged", [&] { fs::resize_file(file("COMMIT"), 0); }},
  };
  for (const auto& [said, damage] : damages) {
    save(10);
    save(20);
    damage();
    const CapturedLog log;
    EXPECT_EQ(load_latest_checkpoint(dir_.path())->step, 10) << said;
    EXPECT_THAT(log.text(), HasSubstr("checkpoint-20: " + said));
    EXPECT_THAT(log.text(), HasSubstr("going back to step 10"));
  }
  save(20);
  fs::remove(file("COMMIT"));  // as an interrupted removal leaves it
  EXPECT_EQ(load_latest_checkpoint(dir_.path())->step, 10);
}

}  // namespace
}  // namespace smelt::checkpoint
