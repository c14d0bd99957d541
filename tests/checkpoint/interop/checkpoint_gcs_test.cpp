// Checkpoints on an object store, where no file is renamed and the marker COMMIT is written last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <numeric>

#include "base/error.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/tensorflow.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "support/gcs_emulator.h"
#include "support/oracle.h"

namespace smelt::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointGcsTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_ORACLE();
    emulator_ = std::make_unique<GcsEmulator>();
    model_ = emulator_->path("run/model");
  }
  static std::vector<float> weights(std::int64_t step) {
    std::vector<float> values(5000);
    std::iota(values.begin(), values.end(), static_cast<float>(step));
    return values;
  }
  static void save(const std::string& dir, std::int64_t step, const std::string& note = "") {
    const std::vector<float> values = weights(step);
    const io::TensorView view{{compiler::DType::f32, {5000}}, std::as_bytes(std::span(values))};
    save_checkpoint(dir, step, {{"a", view}, {"b", view}}, {{"note", note}},
                    {.max_to_keep = 2, .shard_bytes = 20000});
  }
  static void expect_whole(const Checkpoint& checkpoint) {
    EXPECT_EQ(io::tensor_values<float>(checkpoint.tensors.at("a")), weights(checkpoint.step));
    EXPECT_EQ(io::tensor_values<float>(checkpoint.tensors.at("b")), weights(checkpoint.step));
  }

  std::unique_ptr<GcsEmulator> emulator_;
  std::string model_;
};

TEST_F(CheckpointGcsTest, LoadsWhatWasSavedAndRemovesTheOldest) {
  EXPECT_EQ(latest_checkpoint(model_), std::nullopt);
  for (const std::int64_t step : {1, 2, 10}) save(model_, step);
  EXPECT_THAT(checkpoint_steps(model_), ElementsAre(2, 10));
  EXPECT_THAT(io::list_folder(model_), ElementsAre("checkpoint-10", "checkpoint-2"));
  expect_whole(*load_latest_checkpoint(model_));
  expect_whole(load_checkpoint(model_, 2));
  EXPECT_THAT(
      emulator_->client("list"),
      HasSubstr("run/model/checkpoint-10/COMMIT 34\nrun/model/checkpoint-10/manifest.json "));
}

TEST_F(CheckpointGcsTest, ReplacesCheckpointOfTheSameStep) {
  save(model_, 5, "first");
  save(model_, 5, "second");
  EXPECT_EQ(load_checkpoint(model_, 5).state.at("note"), "second");
  EXPECT_THAT(io::list_folder(model_), ElementsAre("checkpoint-5"));
}

// Interrupts the save once at each of its lock checks (`require_held`), like a kill. At every check
// and after every interruption a complete checkpoint must exist; the next save starts from there.
TEST_F(CheckpointGcsTest, KeepsACompleteCopyWhileReplacingAStep) {
  const std::vector<float> values = weights(5);
  const io::TensorView view{{compiler::DType::f32, {5000}}, std::as_bytes(std::span(values))};
  save(model_, 5, "first");
  int cuts = 0;
  for (int last = 1;; ++last) {
    int calls = 0;
    const auto cut = [&] {
      expect_whole(*load_latest_checkpoint(model_));
      if (++calls == last) throw SystemError("cut off");
    };
    const SaveOptions options{.max_to_keep = 1, .shard_bytes = 20000, .require_held = cut};
    try {
      save_checkpoint(model_, 5, {{"a", view}, {"b", view}}, {{"note", "second"}}, options);
      break;
    } catch (const SystemError&) {
      ++cuts;
    }
    expect_whole(*load_latest_checkpoint(model_));
  }
  EXPECT_EQ(cuts, 4);
  EXPECT_EQ(load_checkpoint(model_, 5).state.at("note"), "second");
  EXPECT_THAT(io::list_folder(model_), ElementsAre("checkpoint-5"));
}

TEST_F(CheckpointGcsTest, IgnoresAndRemovesCheckpointWithoutCommitMarker) {
  save(model_, 1);
  save(model_, 2);
  io::remove_file(io::join_path(model_, "checkpoint-2/COMMIT"));
  EXPECT_EQ(latest_checkpoint(model_), 1);
  io::write_file(io::join_path(model_, "checkpoint-3/another.txt"), "not ours");
  save(model_, 4);
  EXPECT_THAT(io::list_folder(model_), ElementsAre("checkpoint-1", "checkpoint-3", "checkpoint-4"));
}

// Each child process is killed at another moment of its saves. This process accesses the store only
// after all of them have ended.
TEST_F(CheckpointGcsTest, ResumesARunKilledAtAnyMoment) {
  std::vector<std::string> models;
  for (int round = 0; round < 10; ++round) {
    models.push_back(emulator_->path(str("run", round)));
    int saved[2];
    ASSERT_EQ(::pipe(saved), 0);
    const ::pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::int64_t step = 1;; ++step) {
        save(models.back(), step);
        if (::write(saved[1], "x", 1) != 1) ::_exit(1);
      }
    }
    char byte;
    for (int count = 0; count <= round % 4; ++count) ASSERT_EQ(::read(saved[0], &byte, 1), 1);
    ::usleep(4000 * round);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ::close(saved[0]);
    ::close(saved[1]);
  }
  for (std::size_t round = 0; round < models.size(); ++round) {
    const auto latest = load_latest_checkpoint(models[round]);
    ASSERT_TRUE(latest.has_value());
    EXPECT_GT(latest->step, static_cast<std::int64_t>(round % 4));
    expect_whole(*latest);
    save(models[round], latest->step + 1);
    for (const std::string& name : io::list_folder(models[round]))
      EXPECT_TRUE(io::exists(io::join_path(models[round], name + "/COMMIT"))) << name;
  }
}

TEST_F(CheckpointGcsTest, ReadsTensorflowCheckpoints) {
  save(model_, 3);
  const std::string prefix = emulator_->path("tf/bert_model.ckpt");
  convert_checkpoint({.from = model_, .to = prefix});
  EXPECT_THAT(
      io::list_folder(emulator_->path("tf")),
      ElementsAre("bert_model.ckpt.data-00000-of-00001", "bert_model.ckpt.index", "checkpoint"));
  EXPECT_EQ(tensorflow_prefix(emulator_->path("tf")), prefix);
  EXPECT_EQ(load_weights(prefix).parameters.size(), 2u);
  convert_checkpoint({.from = prefix, .to = emulator_->path("back/checkpoint-3")});
  expect_whole(load_checkpoint(emulator_->path("back"), 3));
}

}  // namespace
}  // namespace smelt::checkpoint
