// DeBERTa as an ONNX graph.
#pragma once

#include <string>

#include "checkpoint/interop/stored_family.h"

namespace smelt::checkpoint {

// Adds the encoder and returns its last hidden states [B,S,H]. Sequences may have up to
// max_position_embeddings tokens.
std::string add_onnx_deberta(const OnnxModelParts& parts);
// Adds the head of a classifier to x [B,S,H]. Returns [B,C] for texts, [B,S,C] for tokens, [B,S,2]
// for question answering.
std::string add_onnx_deberta_head(const OnnxModelParts& parts, io::Problem problem,
                                  const std::string& x);

}  // namespace smelt::checkpoint
