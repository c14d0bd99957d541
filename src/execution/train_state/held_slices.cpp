#include "execution/train_state/held_slices.h"

#include <map>
#include <set>

#include "execution/train_state/shards.h"

namespace smelt::execution {

std::vector<checkpoint::OwnedSlice> held_slices(const model::StateLayout& layout,
                                                const model::ShardingPlan& placement,
                                                const pjrt::Client& client) {
  std::vector<checkpoint::OwnedSlice> out;
  for (const model::StateTensor& tensor : layout.tensors) {
    if (!tensor.saved) continue;
    const compiler::Mesh& mesh = placement.partition.mesh;
    // The processes that hold a slice, by the index of the slice's first element.
    std::map<compiler::Dims, std::set<int>> holders;
    for (int place = 0; place < placement.devices; ++place)
      holders[part_begin(mesh, tensor.sharding, tensor.shape, place)].insert(
          client.process_of(place));
    // A stack is stored as one tensor per layer, so its slices have no layer axis. This axis is
    // never sharded.
    const std::size_t stacked = tensor.layers > 0 ? 1 : 0;
    const compiler::Dims dims = part_shape(mesh, tensor.sharding, tensor.shape).dims;
    for (const std::string& name : tensor.stored_names())
      for (const auto& [begin, processes] : holders)
        out.push_back({.tensor = name,
                       .whole = tensor.shape_of_one(),
                       .begin = compiler::Dims(begin.begin() + stacked, begin.end()),
                       .dims = compiler::Dims(dims.begin() + stacked, dims.end()),
                       .holders = {processes.begin(), processes.end()}});
  }
  return out;
}

}  // namespace smelt::execution
