#include "train/state_layout.h"

#include "base/str.h"

namespace smelt {

StateLayout values_layout(const Parameters& parameters) {
  StateLayout out;
  for (const Parameter& p : parameters.all())
    out.tensors.push_back({p.name, p.tensor.shape(), p.init});
  out.values = out.tensors.size();
  return out;
}

StateLayout training_layout(const Parameters& parameters, const Optimizer& optimizer) {
  StateLayout out = values_layout(parameters);
  for (const Parameter& p : parameters.all())
    for (const Slot& slot : optimizer.slots(p.name, p.tensor.dims()))
      out.tensors.push_back({str(p.name, "/", slot.name),
                             {DType::f32, slot.dims},
                             {.kind = Init::constant, .value = slot.start}});
  return out;
}

}  // namespace smelt
