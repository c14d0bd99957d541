// Tests that invalid settings of meshes, gradient accumulation and layers are rejected when a
// recipe is loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pipeline {
namespace {

using testing::EndsWith;

class MeshRecipe : public testing::Test {
 protected:
  // Return the error for the section `train` of a recipe file, and for fields set by --set.
  std::string from_recipe(const std::string& train) {
    io::write_file(dir_.file("r.yaml"), str("train: {", train, "}\n"));
    return error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), {}); });
  }
  std::string from_set(const std::vector<std::string>& settings) {
    io::write_file(dir_.file("r.yaml"), "out: x\n");
    return error_of<UsageError>([&] { load_recipe(dir_.file("r.yaml"), settings); });
  }

  TempDir dir_;
};

TEST_F(MeshRecipe, NamesUnknownValues) {
  EXPECT_THAT(from_recipe("precision.compute: fp16"),
              EndsWith("r.yaml: train.precision.compute is 'fp16'\n  hint: did you mean 'bf16'?"));
  EXPECT_EQ(from_set({"train.precision.compute=b16"}),
            "--set: train.precision.compute is 'b16'\n  hint: did you mean 'bf16'?");
  EXPECT_THAT(from_recipe("memory.layers: scann"),
              EndsWith("r.yaml: train.memory.layers is 'scann'\n  hint: did you mean 'scan'?"));
  EXPECT_EQ(from_set({"train.memory.layers=unroled"}),
            "--set: train.memory.layers is 'unroled'\n  hint: did you mean 'unrolled'?");
  EXPECT_THAT(
      from_recipe("memory.remat_policy: product"),
      EndsWith("r.yaml: train.memory.remat_policy is 'product'\n  hint: did you mean 'products'?"));
  EXPECT_EQ(from_set({"train.memory.remat_policy=layers"}),
            "--set: train.memory.remat_policy is 'layers'\n  hint: did you mean 'layer'?");
}

TEST_F(MeshRecipe, UnrolledLayersNeedRematPolicyAll) {
  const std::string refusal =
      ": train.memory.remat_policy 'layer' with train.memory.layers 'unrolled': requires layers "
      "'scan'\n"
      "  hint: set train.memory.layers to scan";
  EXPECT_THAT(from_recipe("memory.remat_policy: layer, memory.layers: unrolled"),
              EndsWith("r.yaml" + refusal));
  EXPECT_EQ(from_recipe("memory.remat_policy: layer"), "no error");  // it implies scanned layers
  EXPECT_EQ(from_set({"train.memory.remat_policy=layer", "train.memory.layers=unrolled",
                      "train.device=tpu"}),
            "--set" + refusal);
  EXPECT_EQ(from_set({"train.memory.remat_policy=layer", "train.device=tpu"}), "no error");
  EXPECT_EQ(from_set({"train.memory.remat_policy=layer", "train.memory.layers=scan"}), "no error");
}

TEST_F(MeshRecipe, RejectsAxesThatDoNotMultiplyToTheDevices) {
  const std::string refusal =
      ": train.parallelism.mesh 'data=2,fsdp=2' has 4 devices, but train.devices is 8\n"
      "  hint: choose axis sizes whose product is the number of devices";
  EXPECT_THAT(from_recipe("devices: 8, parallelism.mesh: 'data=2,fsdp=2'"),
              EndsWith("r.yaml" + refusal));
  EXPECT_EQ(from_set({"train.devices=8", "train.parallelism.mesh=data=2,fsdp=2"}),
            "--set" + refusal);
  EXPECT_EQ(from_set({"train.devices=8", "train.parallelism.mesh= tensor=2, data = 4 "}),
            "no error");
}

TEST_F(MeshRecipe, BuildsTheProgramBeforeAnyWork) {
  EXPECT_EQ(
      from_set({"train.devices=5", "train.parallelism.mesh=tensor=5", "train.batch_size=5"}),
      "--set: mesh: dimension 1 ('heads') of bert/encoder/layer_0/attention/self/query/kernel is "
      "12, which 5 devices of axis 'tensor' do not divide\n"
      "  hint: choose another mesh, or set the rule heads=none to replicate it");
  EXPECT_EQ(from_set({"train.memory.attention_rows=100"}), "no error");
}

TEST_F(MeshRecipe, NamesUnknownAxesAndSizes) {
  EXPECT_EQ(from_set({"train.parallelism.mesh=fdsp=1"}),
            "--set: train.parallelism.mesh: 'fdsp' is unknown\n  hint: did you mean 'fsdp'?");
  EXPECT_EQ(from_set({"train.parallelism.mesh=data"}),
            "--set: train.parallelism.mesh: 'data' has no value\n  hint: write data=…");
  for (const char* size : {"", "0", "-1", "2x", "9999999"})
    EXPECT_EQ(from_set({str("train.parallelism.mesh=data=", size)}),
              str("--set: train.parallelism.mesh: '", size,
                  "' must be a number of devices, at least 1\n  hint: use a positive integer"));
  EXPECT_THAT(from_recipe("parallelism.rules: heds=none"),
              EndsWith("r.yaml: train.parallelism.rules: 'heds' is unknown\n"
                       "  hint: did you mean 'heads'?"));
  EXPECT_EQ(
      from_set({"train.parallelism.rules=vocab=tensors"}),
      "--set: train.parallelism.rules vocab 'tensors' is unknown\n  hint: did you mean 'tensor'?");
}

TEST_F(MeshRecipe, RejectsARepeatedAxis) {
  EXPECT_EQ(from_set({"train.devices=4", "train.parallelism.mesh=data=2,data=2"}),
            "--set: train.parallelism.mesh: 'data' is given twice\n  hint: remove one of them");
}

TEST_F(MeshRecipe, RejectsBatchesThatAxesAndMicroBatchesDoNotDivide) {
  EXPECT_EQ(
      from_set({"train.devices=8", "train.parallelism.mesh=data=2,fsdp=3,tensor=1"}).find("--set"),
      0u);
  EXPECT_EQ(
      from_set({"train.devices=8", "train.parallelism.mesh=data=4,tensor=2", "train.batch_size=6"}),
      "--set: train.batch_size 6 does not divide over the data and fsdp axes, 4\n"
      "  hint: choose a multiple of 4");
  EXPECT_EQ(from_set({"train.devices=8", "train.parallelism.mesh=tensor=8", "train.batch_size=3",
                      "model.num_attention_heads=8"}),
            "no error");
  EXPECT_EQ(from_set({"train.devices=8", "train.gradient_accumulation_steps=3"}),
            "--set: train.batch_size 32, 4 a device, does not divide into "
            "train.gradient_accumulation_steps 3\n"
            "  hint: choose a number of micro-batches that divides 4");
  EXPECT_THAT(
      from_set({"train.gradient_accumulation_steps=0"}),
      testing::StartsWith("--set: train.gradient_accumulation_steps is 0, must be at least"));
}

TEST_F(MeshRecipe, PerReplicaReductionNeedsReplicatedParameters) {
  const std::string refusal =
      ": reduction per_replica cannot be combined with a mesh that splits parameters\n"
      "  hint: use the mesh auto, or the reduction global";
  EXPECT_THAT(
      from_recipe("devices: 2, parallelism.mesh: fsdp=2, parallelism.reduction: per_replica"),
      EndsWith("r.yaml" + refusal));
  EXPECT_EQ(from_set({"train.devices=2", "train.parallelism.mesh=tensor=2",
                      "train.parallelism.reduction=per_replica"}),
            "--set" + refusal);
  EXPECT_EQ(from_set({"train.devices=2", "train.parallelism.mesh=data=2",
                      "train.parallelism.reduction=per_replica"}),
            "no error");
}

}  // namespace
}  // namespace smelt::pipeline
