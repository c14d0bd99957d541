// What the layers of a stack give, for who compares two models.
//   B batch   S tokens   H width   N heads   D width of a head
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace smelt {

struct LayerStates {
  bool with_heads = false;          // whether q and k are wanted
  Tensor mask = {};                 // s32 [B,S]: 1 = a token
  std::vector<Tensor> hidden = {};  // [B,S,H]: what the first layer is given, then what each gives
  std::vector<Tensor> q = {}, k = {};  // [B,S,N,D] of each layer's attention within the stack
};

// What a layer has to give: `out`, and q and k, which are `asked`.
std::vector<Tensor> states_of_layer(const LayerStates* states, Tensor out,
                                    const std::vector<Tensor>& asked);
// Of all layers behind x (layer_stack_outputs(), model/nn/scope.h).
void take_states(LayerStates& states, Tensor x, const std::vector<std::vector<Tensor>>& layers);

}  // namespace smelt
