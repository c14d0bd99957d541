// ModernBERT as operators of an ONNX graph.
#pragma once

#include <string>

#include "checkpoint/interop/stored_family.h"

namespace smelt::checkpoint {

// Adds the layers of model/models/modernbert_encoder.cpp up to the final norm. Returns [B,S,H].
std::string add_onnx_modernbert(const OnnxModelParts& parts);
// Adds the head of a classifier, as StoredFamily::add_onnx_head().
std::string add_onnx_modernbert_head(const OnnxModelParts& parts, io::Problem problem,
                                     const std::string& x);

}  // namespace smelt::checkpoint
