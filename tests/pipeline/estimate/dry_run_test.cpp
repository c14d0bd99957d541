// Tests of dry runs: memory, disk, weights and time; recipes for a TPU on any machine.
#include "pipeline/estimate/dry_run.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/small_recipe.h"
#include "pipeline/stages/run_needs.h"
#include "pjrt/hardware.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class DryRun : public SmallRecipe {
 protected:
  std::string refusal(const std::vector<std::string>& settings) const {
    return error_of<UsageError>([&] { dry_run_text(recipe(settings)); });
  }
};

TEST_F(DryRun, RejectsABatchThatExceedsTheMemory) {
  const auto message =
      AllOf(ContainsRegex("train: weights, gradients and optimizer state on 1 x cpu are [0-9.]+ .B "
                          "and a batch is [0-9.]+ TB, more than this machine's memory of "),
            HasSubstr("hint: lower train.batch_size, which is 100000000000"));
  EXPECT_THAT(refusal({"train.batch_size=100000000000"}), message);
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe({"train.batch_size=100000000000"})); }),
              message);
  EXPECT_FALSE(io::exists(dir_.file("m")));
}

TEST_F(DryRun, MemoryGrowsWithDevices) {
  const auto state = [&](const char* devices) {
    const DeviceMemory one = device_memory(recipe({str("train.devices=", devices)}));
    return 2 * one.values + one.slots;
  };
  EXPECT_EQ(state("2"), state("1"));  // one replica per device
  EXPECT_THAT(dry_run_text(recipe({"train.devices=2"})), HasSubstr("memory, all devices"));
  const DeviceMemory whole = device_memory(recipe({"train.devices=2"})),
                     split = device_memory(recipe(
                         {"train.devices=2", "train.parallelism.mesh=fsdp=2", "vocab.size=60"}));
  EXPECT_EQ(whole.values, 2 * split.values);
  EXPECT_EQ(whole.batch, split.batch);
}

// Layers are built as a loop; unrolled, the graph would have millions of nodes.
TEST_F(DryRun, ChecksAModelOfAHundredThousandLayersQuickly) {
  const std::string message = refusal(
      {"model.num_hidden_layers=100000", "model.hidden_size=1024", "model.intermediate_size=4096"});
  EXPECT_THAT(message, HasSubstr("more than this machine's memory of "));
  EXPECT_THAT(message, HasSubstr("hint: choose a smaller model"));
}

TEST_F(DryRun, RejectsWeightsOfAnotherWidth) {
  run_recipe(recipe());
  const std::string init = "train.init_from=" + dir_.file("m/model");
  const std::string out = "out=" + dir_.file("n");
  EXPECT_THAT(dry_run_text(recipe({out, init})),
              ContainsRegex("train.init_from +/.*, 30 of 30 parame"));
  EXPECT_THAT(
      refusal({out, init, "model.hidden_size=16"}),
      HasSubstr("set the model's sizes to those of the pretrained weights, or train without them"));
  EXPECT_THAT(
      error_of<UsageError>([&] { run_recipe(recipe({out, init, "model.hidden_size=16"})); }),
      HasSubstr("set the model's sizes to those of the pretrained weights, or train without them"));
  EXPECT_FALSE(io::exists(dir_.file("n")));
  io::remove_file(dir_.file("m/vocab.txt"));
  EXPECT_THAT(refusal({out, init}), HasSubstr("train.init_from: no vocabulary found for "));
}

TEST_F(DryRun, HasTheSameValuesAsJson) {
  const OrderedJson ready = dry_run_json(recipe());
  EXPECT_EQ(ready.at("ready"), true);
  EXPECT_TRUE(ready.at("missing").empty());
  EXPECT_THAT(ready.at("reads").at("text.input").get<std::string>(), HasSubstr("1 file, "));
  EXPECT_THAT(ready.at("writes").at("checkpoints").get<std::string>(), HasSubstr(dir_.file("")));
  const OrderedJson not_here = dry_run_json(recipe({"train.device=gpu"}));
  EXPECT_EQ(not_here.at("ready"), false);
  EXPECT_THAT(not_here.at("missing").dump(), HasSubstr("no GPU on this machine"));
}

TEST_F(DryRun, EstimatesTheTimeAndStatesTheAssumption) {
  EXPECT_THAT(dry_run_text(recipe()),
              ContainsRegex("time +about 1 second, if a step reaches 40 % of the [0-9]+ GFLOP/s "
                            "of a single matmul"));
  EXPECT_THAT(dry_run_text(recipe({"train.steps=1000000000000"})),
              ContainsRegex("about [0-9.]+ days"));
}

TEST_F(DryRun, RejectsADiskThatIsTooSmallForTextAndExamples) {
  const Recipe r = recipe();
  DiskNeed need = disk_need(r);
  EXPECT_GE(need.text, static_cast<double>(io::file_size(dir_.file("text.txt"))));
  EXPECT_GT(need.records, 0);
  need.free = need.least() - 1;
  EXPECT_THAT(
      error_of<UsageError>([&] { check_disk(r, need); }),
      AllOf(HasSubstr("left; text and examples need about "), HasSubstr("one checkpoint ")));
  run_recipe(r);
  const DiskNeed after = disk_need(r);
  EXPECT_EQ(after.text + after.records, 0);
}

TEST_F(DryRun, RejectsATextWithTheMessageOfTheRun) {
  const auto refused = [&](const std::string& text) {
    io::write_file(dir_.file("text.txt"), text);
    const std::string message = refusal({});
    EXPECT_EQ(message, error_of<UsageError>([&] { run_recipe(recipe()); }));
    return message;
  };
  std::string latin1;
  for (int i = 0; i < 100; ++i) latin1 += "caf\xe9 et th\xe9\n\n";
  EXPECT_THAT(refused(latin1), HasSubstr("text.txt:19: the file is not UTF-8"));
  EXPECT_THAT(refused(""), HasSubstr("text.txt holds no text\n  hint: give files with text"));
  EXPECT_THAT(refused("one document\n"), HasSubstr("holds 1 document; at least 2 are needed"));
}

TEST_F(DryRun, ChecksATpuRecipeWithoutATpu) {
  if (std::filesystem::exists("/dev/accel0") || std::filesystem::exists("/dev/vfio/0"))
    GTEST_SKIP() << "a TPU is here";
  const ScopedVariable none("SMELT_TPU_PLUGIN", "");
  const std::vector<std::string> tpu{"train.device=tpu", "train.devices=3", "train.batch_size=6",
                                     "eval.batch_size=3"};
  const std::string text = dry_run_text(recipe(tpu));
  EXPECT_THAT(text, AllOf(HasSubstr("3 x tpu: none on this machine"),
                          HasSubstr("no standard TPU slice has 3 devices"),
                          HasSubstr("dry run: not ready to run on this machine: no TPU on this "
                                    "machine; whether it fits a device is not known")));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe(tpu)); }),
              HasSubstr("no TPU on this machine"));
}

TEST_F(DryRun, ChecksAGpuRecipeWithoutAGpu) {
  try {
    pjrt::require_nvidia_driver();
    GTEST_SKIP() << "a GPU is here";
  } catch (const UsageError&) {
  }
  const ScopedVariable none("SMELT_GPU_PLUGIN", "");
  EXPECT_THAT(dry_run_text(recipe({"train.device=gpu"})),
              AllOf(HasSubstr("1 x gpu: none on this machine"),
                    HasSubstr("whether it fits a device is not known")));
}

}  // namespace
}  // namespace smelt::pipeline
