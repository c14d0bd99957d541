#include "train/averages.h"

#include "base/str.h"
#include "ops/ops.h"

namespace smelt {

void add_averages(double decay, StateLayout& layout, Graph& graph, std::vector<Tensor>& results) {
  for (std::size_t i = 0; i < layout.values; ++i) {
    StateTensor average = layout.tensors[i];
    average.drawn_as = average.name;
    average.name = kAveragePrefix + average.name;
    const Tensor before = graph.argument(average.shape);
    // Of weights that stay as they are it is their very bits.
    results.push_back(before + (1 - decay) * (results[i] - before));
    layout.tensors.push_back(std::move(average));
  }
}

void take_averages(StateLayout& layout) {
  for (StateTensor& tensor : layout.tensors) tensor.name = kAveragePrefix + tensor.name;
}

}  // namespace smelt
