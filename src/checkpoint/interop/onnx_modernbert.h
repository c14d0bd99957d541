// ModernBERT as operators of an ONNX graph.
#pragma once

#include <string>

#include "checkpoint/interop/stored_family.h"

namespace smelt::checkpoint {

// Adds the layers of model/models/modernbert_encoder.cpp up to the final norm. Returns [B,S,H].
std::string add_onnx_modernbert(const OnnxModelParts& parts);
// Implements StoredFamily::add_onnx_head() (checkpoint/interop/stored_family.h) for a ModernBERT.
std::string add_onnx_modernbert_head(const OnnxModelParts& parts, io::Problem problem,
                                     const std::string& x);

}  // namespace smelt::checkpoint
