// Which matrices of a folder become codes, and what its config.json says of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "compress/matrix_names.h"
#include "compress/quantize.h"
#include "compress/source_folder.h"

namespace smelt {

inline bool is_int4(const QuantizeJob& job) { return job.weights == WeightCodes::int4; }

struct QuantizePlan {
  std::vector<std::string> products, tables, kept;  // modules
};

// UsageError for a pattern of job.keep that no module fits, and where nothing is left to quantize.
QuantizePlan plan_of(const SourceFolder& source, const QuantizeJob& job);

// QuantizationConfig of compressed-tensors. `Linear` is every module of that class; tables are of
// another, and named.
Json quantization_config(const QuantizePlan& plan, CompressKind kind, const QuantizeJob& job);

}  // namespace smelt
