// The tensors of a StateLayout on this process's devices: each device has one buffer per tensor,
// with the whole tensor or the device's shard. A restored state may have been saved from another
// mesh.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/storage/slices.h"
#include "execution/train_state/state_copy.h"
#include "model/train_step/sharding_plan.h"
#include "model/train_step/state_layout.h"

namespace smelt::execution {

class ModelState {
 public:
  // Initializes each tensor as its Init specifies, then overwrites the first rows of the tensors
  // that `given` contains.
  static ModelState fresh(const pjrt::Client& client, const model::ShardingPlan& placement,
                          const model::StateLayout& layout, std::uint64_t seed,
                          const io::TensorMap& given = {});
  // Copies named tensors from the host. Throws UsageError, whose message begins with `where`, if a
  // tensor is missing or has another shape.
  static ModelState restore(const pjrt::Client& client, const model::ShardingPlan& placement,
                            const model::StateLayout& layout,
                            const checkpoint::SlicedTensors& tensors, const std::string& where);
  static ModelState restore(const pjrt::Client& client, const model::ShardingPlan& placement,
                            const model::StateLayout& layout, const io::TensorMap& tensors,
                            const std::string& where);

  // Creates the state from the first results of a program, which must be the layout's tensors.
  // Moves them out of `results`.
  static ModelState of_results(const pjrt::Client& client, const model::ShardingPlan& placement,
                               const model::StateLayout& layout,
                               std::vector<std::vector<pjrt::Buffer>>& results);

  // Returns the buffers of the layout's tensors on one device, as the last arguments of a program.
  // `own` is the device's index in Client::own_devices(). The state may have more tensors than the
  // layout.
  std::vector<const pjrt::Buffer*> on_device(std::size_t own,
                                             const model::StateLayout& layout) const;
  // Moves the first results of a training step out of `results` as the new state.
  void replace(std::vector<std::vector<pjrt::Buffer>>& results);
  // Starts copying all saved tensors to the host: the slices that are on this process's devices.
  StateCopy start_copy() const;
  // Does the same as start_copy() and waits for the copy.
  HostState download() const { return start_copy().take(); }

 private:
  class Staging;  // buffers of one thread
  using Source = std::function<std::vector<checkpoint::TensorSlice>(
      const model::StateTensor& tensor, Staging& staging)>;

  ModelState(std::vector<pjrt::OwnDevice> devices, const model::ShardingPlan& placement,
             const model::StateLayout& layout);
  ModelState(const pjrt::Client& client, const model::ShardingPlan& placement,
             const model::StateLayout& layout, const Source& source);
  std::vector<pjrt::Buffer> put(const pjrt::Client& client, const model::StateTensor& tensor,
                                std::span<const checkpoint::TensorSlice> slices,
                                Staging& staging) const;

  std::shared_ptr<const model::StateLayout> layout_;
  compiler::Mesh mesh_;
  std::vector<pjrt::OwnDevice> devices_;
  StateCopy::Buffers buffers_;
};

}  // namespace smelt::execution
