#include "model/train_step/state_layout.h"

#include <span>

#include "base/str.h"

namespace smelt::model {

using compiler::DimAxes;
using compiler::Dims;
using compiler::DType;
using compiler::Shape;

namespace {

// Returns the sharding of a slot. A dimension with the same size as in the parameter is sharded
// like the parameter; others are not sharded.
DimAxes slot_axes(DimAxes of_parameter, const Dims& parameter, const Dims& slot) {
  of_parameter.resize(slot.size());
  for (std::size_t i = 0; i < slot.size(); ++i)
    if (slot.size() != parameter.size() || slot[i] != parameter[i]) of_parameter[i].clear();
  return of_parameter;
}

}  // namespace

std::vector<std::string> StateTensor::stored_names() const { return layer_names(name, layers); }

std::vector<std::string> StateTensor::drawn_names() const {
  return layer_names(drawn_as.empty() ? name : drawn_as, layers);
}

Shape StateTensor::shape_of_one() const {
  Shape one = shape;
  if (layers > 0) one.dims.erase(one.dims.begin());
  return one;
}

std::int64_t StateLayout::parameters() const {
  std::int64_t count = 0;
  for (const StateTensor& t : std::span(tensors).first(values)) count += t.shape.elements();
  return count;
}

StateLayout values_layout(const Parameters& parameters, const PartitionRules& partition) {
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
                            const PartitionRules& partition) {
  StateLayout out = values_layout(parameters, partition);
  for (const Parameter& p : parameters.all())
    for (const Slot& slot : optimizer.slots(p)) {
      const Dims dims = stacked_dims(p.layers, slot.dims);
      const DimAxes axes = partition.of_slots(p.name, p.tensor.rank());
      out.tensors.push_back({str(p.name, "/", slot.name),
                             {DType::f32, dims},
                             {.kind = Init::constant, .value = slot.start},
                             p.layers,
                             {slot_axes(axes, p.tensor.dims(), dims)}});
    }
  return out;
}

}  // namespace smelt::model
