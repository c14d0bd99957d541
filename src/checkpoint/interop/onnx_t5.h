// A T5 as three ONNX graphs: the encoder, the decoder for the first tokens of the output, and the
// decoder for later tokens, which takes the KV cache. Inputs and outputs have the same names as in
// Optimum's export: docs/reference/formats/onnx.md.
//   B batch   S encoder tokens   T new decoder tokens   P previous decoder tokens
//   E d_model   N heads   D d_kv
#pragma once

#include <string>

#include "checkpoint/interop/onnx_encoder.h"
#include "model/models/t5_config.h"

namespace smelt::checkpoint {

enum class T5Graph { encoder, decoder, decoder_with_past };

// Adds the inputs, operators and outputs of one graph. `tensors` have smelt's names; error messages
// begin with `where`.
void add_t5_graph(io::OnnxGraph& graph, const io::LazyTensors& tensors,
                  const model::T5Config& config, const std::string& where, T5Graph kind);

}  // namespace smelt::checkpoint
