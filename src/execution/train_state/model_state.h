// The tensors of a StateLayout on devices: one buffer of each on every device of this process, of
// all of it or of the device's part. What is put there may lie in other slices: the mesh may
// change.
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

namespace smelt {

class ModelState {
 public:
  // Each tensor as its Init says, but for values that are given by name: those of its first rows.
  static ModelState fresh(const Client& client, const ShardingPlan& placement,
                          const StateLayout& layout, std::uint64_t seed,
                          const TensorMap& given = {});
  // From named tensors on the host. UsageError when one is missing or has another shape (both
  // shapes); `where` begins the message.
  static ModelState restore(const Client& client, const ShardingPlan& placement,
                            const StateLayout& layout, const SlicedTensors& tensors,
                            const std::string& where);
  static ModelState restore(const Client& client, const ShardingPlan& placement,
                            const StateLayout& layout, const TensorMap& tensors,
                            const std::string& where);

  // Takes the first results of a program, which are the layout's tensors.
  static ModelState of_results(const Client& client, const ShardingPlan& placement,
                               const StateLayout& layout,
                               std::vector<std::vector<Buffer>>& results);

  // The handles of a layout's tensors on one of Client::own_devices() of the placement's devices,
  // by its index there, to follow the other arguments. All of them are this state's, which may have
  // more.
  std::vector<const Buffer*> on_device(std::size_t own, const StateLayout& layout) const;
  // Takes the first results of a training step as the new state.
  void replace(std::vector<std::vector<Buffer>>& results);
  // A copy of everything that is saved, as far as this process's devices hold it.
  StateCopy start_copy() const;
  // Copies it to the host and waits for it.
  HostState download() const { return start_copy().take(); }

 private:
  class Staging;  // of one thread
  using Source =
      std::function<std::vector<TensorSlice>(const StateTensor& tensor, Staging& staging)>;

  ModelState(std::vector<OwnDevice> devices, const ShardingPlan& placement,
             const StateLayout& layout);
  ModelState(const Client& client, const ShardingPlan& placement, const StateLayout& layout,
             const Source& source);
  std::vector<Buffer> put(const Client& client, const StateTensor& tensor,
                          std::span<const TensorSlice> slices, Staging& staging) const;

  std::shared_ptr<const StateLayout> layout_;
  Mesh mesh_;
  std::vector<OwnDevice> devices_;
  StateCopy::Buffers buffers_;
};

}  // namespace smelt
