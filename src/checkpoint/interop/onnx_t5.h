// A T5 as three ONNX graphs: its encoder, its decoder for the first tokens of an answer, and its
// decoder for the tokens that follow, with the keys and values of those before. Inputs and outputs
// have the names that Optimum's exporter gives them: docs/reference/formats/onnx.md.
//   B batch   S tokens of the encoder   T new tokens of the decoder   P tokens before them
//   E d_model   N heads   D d_kv
#pragma once

#include <string>

#include "checkpoint/interop/onnx_encoder.h"
#include "model/models/t5_config.h"

namespace smelt {

enum class T5Graph { encoder, decoder, decoder_with_past };

// Adds the graph's inputs, operators and outputs to `graph`. `tensors` are the model's, by smelt's
// names; `where` begins messages.
void add_t5_graph(OnnxGraph& graph, const LazyTensors& tensors, const T5Config& config,
                  const std::string& where, T5Graph kind);

}  // namespace smelt
