#include "train/state_layout.h"

#include "base/str.h"

namespace smelt {

std::vector<std::string> StateTensor::names() const {
  if (layers == 0) return {name};
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < layers; ++i) out.push_back(layer_name(name, i));
  return out;
}

Shape StateTensor::shape_of_one() const {
  Shape one = shape;
  if (layers > 0) one.dims.erase(one.dims.begin());
  return one;
}

StateLayout values_layout(const Parameters& parameters, const Partition& partition) {
  StateLayout out;
  for (const Parameter& p : parameters.all()) {
    partition.check(p.name, p.tensor.dims());
    out.tensors.push_back(
        {p.name, p.tensor.shape(), p.init, p.layers, {partition.at_rest(p.name, p.tensor.rank())}});
  }
  out.values = out.tensors.size();
  return out;
}

StateLayout training_layout(const Parameters& parameters, const Optimizer& optimizer,
                            const Partition& partition) {
  StateLayout out = values_layout(parameters, partition);
  for (const Parameter& p : parameters.all())
    for (const Slot& slot : optimizer.slots(p.name, p.tensor.dims()))
      out.tensors.push_back(
          {str(p.name, "/", slot.name),
           {DType::f32, slot.dims},
           {.kind = Init::constant, .value = slot.start},
           p.layers,
           {slot.dims == p.tensor.dims() ? partition.of_slots(p.name, p.tensor.rank())
                                         : DimAxes(slot.dims.size())}});
  return out;
}

}  // namespace smelt
