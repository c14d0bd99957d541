// Hidden states of all layers, for comparing two models.
//   B batch   S tokens   H width   N heads   D head width
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace smelt::model {

// Hidden states of a stack.
struct LayerStates {
  bool with_heads = false;     // whether to collect q and k
  compiler::Tensor mask = {};  // s32 [B,S]: 1 for tokens, 0 for padding
  // [B,S,H]: the input of the first layer, then the output of each layer
  std::vector<compiler::Tensor> hidden = {};
  std::vector<compiler::Tensor> q = {}, k = {};  // [B,S,N,D] of each layer's self-attention
};

// Returns the tensors that a layer must output so that take_states() can store them: none if
// `states` is null, otherwise `out` and, if states->with_heads, queries and keys.
std::vector<compiler::Tensor> states_of_layer(
    const LayerStates* states, compiler::Tensor out,
    const std::vector<compiler::Tensor>& queries_and_keys);
// Stores the input x of the first layer and the outputs of all layers in `states`. `layers` is
// LayerResults::outputs (model/nn/scope.h).
void take_states(LayerStates& states, compiler::Tensor x,
                 const std::vector<std::vector<compiler::Tensor>>& layers);

}  // namespace smelt::model
