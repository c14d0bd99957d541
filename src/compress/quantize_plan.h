// Selects the matrices of a folder to quantize, and describes them in config.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compress/matrix_names.h"
#include "compress/quantize.h"
#include "compress/source_folder.h"

namespace smelt::compress {

inline bool is_int4(const QuantizeJob& job) { return job.weights == WeightType::int4; }

// The modules to quantize (matmuls and embedding tables) and the modules to keep unquantized.
struct QuantizePlan {
  std::vector<std::string> products, tables, kept;
};

// Throws UsageError if a pattern of job.keep matches no module, or if no matrix is left to
// quantize.
QuantizePlan plan_of(const SourceFolder& source, const QuantizeJob& job);

// Returns compressed-tensors' QuantizationConfig. The target `Linear` covers every module of that
// class; embedding tables are listed by name.
Json quantization_config(const QuantizePlan& plan, CompressKind kind, const QuantizeJob& job);

}  // namespace smelt::compress
