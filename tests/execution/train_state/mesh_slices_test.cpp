// Sharded states on their way through a checkpoint: saved as the slices that devices hold, restored
// on any other mesh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>

#include "base/philox.h"
#include "checkpoint/storage/checkpoint.h"
#include "execution/train_state/shards.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "runs/mesh_bert.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::execution {
namespace {

using testing::HasSubstr;

struct Way {
  std::string mesh = {};  // empty: one device
  bool split_slots = false;
  model::Layers layers = model::Layers::unrolled;
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << (way.mesh.empty() ? "one device" : way.mesh)
             << (way.split_slots ? ", split slots" : "")
             << (way.layers == model::Layers::scan ? ", scan" : "");
}

const Way kOne{}, kOneScan{.layers = model::Layers::scan}, kAll{.mesh = "data=2,fsdp=2,tensor=2"},
    kAllScan{.mesh = "data=2,fsdp=2,tensor=2", .layers = model::Layers::scan},
    kFsdp{.mesh = "fsdp=8"}, kTensor{.mesh = "tensor=8"},
    kTensorScan{.mesh = "tensor=8", .layers = model::Layers::scan},
    kSlots{.mesh = "data=2,fsdp=4", .split_slots = true}, kData{.mesh = "data=8"},
    kFour{.mesh = "data=2,fsdp=4"};

class MeshSlices : public testing::Test {
 protected:
  void SetUp() override { REQUIRE_PLUGIN("cpu"); }

  // A state with moving averages and recent losses; nothing is compiled.
  static const model::StepProgram& program(const Way& way) {
    static std::map<std::string, model::StepProgram> made;
    const std::string name = str(way);
    if (const auto found = made.find(name); found != made.end()) return found->second;
    model::TrainingConfig config = mesh_config(way.mesh.empty() ? 1 : 8);
    config.ema_decay = 0.9;
    config.spikes.action = model::SpikeAction::skip;
    config.compute.layers = way.layers;
    if (way.layers == model::Layers::scan) config.compute.save = compiler::RematPolicy::products;
    const model::ShardingPlan placement =
        way.mesh.empty() ? model::placement_for("cpu", 1, model::Reduction::global)
                         : mesh_placement(way.mesh, way.split_slots);
    return made
        .emplace(name, model::train_program(model::bert_task(mesh_bert()), config, placement))
        .first->second;
  }

  // Fills each tensor with different numbers.
  io::TensorMap random_state() {
    io::TensorMap out;
    for (const model::StateTensor& tensor : program(kOne).state.tensors) {
      if (!tensor.saved) continue;
      std::vector<float>& values = memory_.emplace_back();
      for (std::int64_t i = 0; i < tensor.shape.elements(); ++i)
        values.push_back(
            static_cast<float>(philox(memory_.size(), static_cast<std::uint64_t>(i), 0)[0] >> 8));
      out[tensor.name] = {tensor.shape, std::as_bytes(std::span(values))};
    }
    return out;
  }
  template <class Tensors>
  ModelState put(const Way& way, const Tensors& tensors) const {
    return ModelState::restore(*client_, program(way).placement, program(way).state, tensors,
                               "state");
  }
  void save(const std::string& folder, const ModelState& state) const {
    checkpoint::save_sliced_checkpoint(dir_.file(folder), 1, state.download().tensors, {});
  }

  const std::shared_ptr<const pjrt::Client> client_ = pjrt::open_device("cpu", 8);
  const TempDir dir_;
  std::deque<std::vector<float>> memory_;
};

StateValues numbers_of(const io::TensorMap& tensors) {
  StateValues out;
  for (const auto& [name, view] : tensors) out[name] = io::tensor_values<float>(view);
  return out;
}

TEST_F(MeshSlices, StateHasTheSameBitsOnAnyOtherMesh) {
  const io::TensorMap given = random_state();
  const StateValues want = numbers_of(given);
  for (const Way& from : {kAll, kAllScan, kFsdp, kTensor, kSlots}) {
    const std::string folder = str(from);
    save(folder, put(from, given));
    const checkpoint::SlicedCheckpoint saved =
        checkpoint::load_sliced_checkpoint(dir_.file(folder), 1);
    for (const Way& to : {kOne, kOneScan, kData, kAll, kAllScan, kTensorScan, kFour, kSlots}) {
      SCOPED_TRACE(str("from ", from, " to ", to));
      EXPECT_TRUE(values_of(put(to, saved.tensors)) == want);
    }
    // Whole tensors can be read, too.
    EXPECT_TRUE(numbers_of(checkpoint::load_checkpoint(dir_.file(folder), 1).tensors) == want);
  }
}

TEST_F(MeshSlices, CheckpointHasTheSameBytesAfterARoundTripOverAnotherMesh) {
  save("before", put(kAll, random_state()));
  save("between",
       put(kTensorScan, checkpoint::load_sliced_checkpoint(dir_.file("before"), 1).tensors));
  save("one", put(kOneScan, checkpoint::load_sliced_checkpoint(dir_.file("between"), 1).tensors));
  save("after", put(kAllScan, checkpoint::load_sliced_checkpoint(dir_.file("one"), 1).tensors));
  const std::string before = dir_.file("before/checkpoint-1"),
                    after = dir_.file("after/checkpoint-1");
  EXPECT_EQ(io::list_folder(before), io::list_folder(after));
  for (const std::string& name : io::list_folder(before))
    EXPECT_TRUE(io::read_file(before + "/" + name) == io::read_file(after + "/" + name)) << name;
  EXPECT_THAT(io::read_file(dir_.file("one/checkpoint-1/manifest.json")),
              HasSubstr("smelt checkpoint 1"));
}

TEST_F(MeshSlices, HostCopyHoldsEachSliceOnceAndAssemblesNothing) {
  for (const Way& way : {kAll, kAllScan, kSlots}) {
    SCOPED_TRACE(str(way));
    const model::StepProgram& of = program(way);
    const HostState host = put(way, random_state()).download();
    std::size_t split = 0;
    for (const model::StateTensor& tensor : of.state.tensors) {
      if (!tensor.saved) continue;
      model::StateTensor part = tensor;
      part.shape = part_shape(of.placement.partition.mesh, tensor.sharding, tensor.shape);
      for (const std::string& name : tensor.stored_names()) {
        const checkpoint::SlicedTensor& held = host.tensors.at(name);
        EXPECT_EQ(held.shape, tensor.shape_of_one());
        std::int64_t elements = 0;
        for (const checkpoint::TensorSlice& slice : held.slices) {
          EXPECT_EQ(slice.part.shape, part.shape_of_one()) << name;
          EXPECT_EQ(slice.part.data.size(), slice.part.shape.size_bytes());
          elements += slice.part.shape.elements();
        }
        EXPECT_EQ(elements, held.shape.elements()) << name;
        split += held.is_complete() ? 0 : 1;
      }
    }
    EXPECT_GT(split, 50u);
  }
}

TEST_F(MeshSlices, FindsNonFiniteValuesInASlice) {
  const io::TensorMap given = random_state();
  EXPECT_EQ(first_not_finite(put(kAll, given).download()), std::nullopt);
  const std::string name = "bert/pooler/dense/kernel";
  for (auto& values : memory_)
    if (given.at(name).data.data() == reinterpret_cast<const std::byte*>(values.data()))
      values.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(first_not_finite(put(kAll, given).download()), name);
}

TEST_F(MeshSlices, RejectsTheSlicesOfAnotherModel) {
  save("model", put(kAll, random_state()));
  checkpoint::SlicedTensors tensors =
      checkpoint::load_sliced_checkpoint(dir_.file("model"), 1).tensors;
  tensors["bert/pooler/dense/kernel"].shape.dims[1] *= 2;
  EXPECT_EQ(error_of<UsageError>([&] { put(kFsdp, tensors); }),
            "state: bert/pooler/dense/kernel has shape f32[64,128], the model expects f32[64,64]\n"
            "  hint: use the configuration that the checkpoint was made with");
  tensors.erase("bert/pooler/dense/kernel");
  EXPECT_THAT(error_of<UsageError>([&] { put(kFsdp, tensors); }),
              HasSubstr("state: no tensor bert/pooler/dense/kernel"));
}

}  // namespace
}  // namespace smelt::execution
