#include "model/train_step/averages.h"

#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::Tensor;

void add_averages(StateLayout& layout) {
  for (std::size_t i = 0; i < layout.values; ++i) {
    StateTensor average = layout.tensors[i];
    average.drawn_as = average.name;
    average.name = kAveragePrefix + average.name;
    layout.tensors.push_back(std::move(average));
  }
}

// In this form an average that equals the value does not change by rounding.
Tensor next_average(double decay, Tensor average, Tensor value) {
  return average + (1 - decay) * (value - average);
}

void take_averages(StateLayout& layout) {
  for (StateTensor& tensor : layout.tensors) tensor.name = kAveragePrefix + tensor.name;
}

}  // namespace smelt::model
