#include "model/optim/added_slots.h"

#include "model/optim/pruning.h"

namespace smelt::model {

using compiler::Tensor;

Optimizer with_added_slots(Optimizer optimizer, std::vector<std::string> names, AddedSlots update) {
  Optimizer out = optimizer;
  out.slots = [own = optimizer.slots, names](const Parameter& p) {
    std::vector<Slot> all = own(p);
    if (is_prunable(p.name, p.dims_of_one()))
      for (const std::string& name : names) all.push_back({.name = name, .dims = p.dims_of_one()});
    return all;
  };
  out.update = [own = optimizer.update, added = names.size(), update = std::move(update)](
                   const OptimizerStep& step, const Parameter& p, std::span<const Tensor> slots,
                   Tensor gradient) {
    if (!is_prunable(p.name, p.dims_of_one())) return own(step, p, slots, gradient);
    UpdatedParameter updated = own(step, p, slots.first(slots.size() - added), gradient);
    for (const Tensor& slot : update(step, p, slots.last(added), gradient))
      updated.slots.push_back(slot);
    return updated;
  };
  return out;
}

}  // namespace smelt::model
