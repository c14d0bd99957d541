#include "train/step_guard.h"

#include "base/error.h"
#include "ops/ops.h"
#include "train/spikes.h"

namespace smelt {

void add_step_guard(const StepVerdict& verdict, StateLayout& layout, Graph& graph,
                    std::vector<Tensor>& results) {
  CHECK(results.size() == layout.tensors.size());
  const std::vector<Tensor> arguments = graph.arguments();
  const auto before = std::span(arguments).last(results.size());
  const Tensor flag = graph.argument({DType::f32, {}}), none = zeros_like(flag);
  const Tensor finite = bitwise_and(is_finite(verdict.loss), is_finite(verdict.norm));
  const Tensor good = bitwise_and(compare(flag, none, Compare::gt), finite);
  const Tensor taken =
      verdict.spike ? select(verdict.spike, compare(flag, flag, Compare::ne), good) : good;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == before[i]) continue;
    const bool of_spikes = layout.tensors[i].name == kSpikeLosses;
    results[i] = select(of_spikes ? good : taken, results[i], before[i]);
  }
  results.push_back(select(good, flag, none));
  layout.tensors.push_back({.name = "run/good",
                            .shape = flag.shape(),
                            .init = {.kind = Init::constant, .value = 1},
                            .saved = false});
}

}  // namespace smelt
