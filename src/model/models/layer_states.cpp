#include "model/models/layer_states.h"

namespace smelt::model {

using compiler::Tensor;

std::vector<Tensor> states_of_layer(const LayerStates* states, Tensor out,
                                    const std::vector<Tensor>& queries_and_keys) {
  if (states == nullptr) return {};
  std::vector<Tensor> given{out};
  if (states->with_heads)
    given.insert(given.end(), queries_and_keys.begin(), queries_and_keys.end());
  return given;
}

void take_states(LayerStates& states, Tensor x, const std::vector<std::vector<Tensor>>& layers) {
  states.hidden = {x};
  for (const std::vector<Tensor>& layer : layers) {
    states.hidden.push_back(layer[0]);
    if (!states.with_heads) continue;
    states.q.push_back(layer[1]);
    states.k.push_back(layer[2]);
  }
}

}  // namespace smelt::model
