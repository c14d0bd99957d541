// Sparse weights in the layout of compressed-tensors' format "sparse-bitmask", which that package
// read below version 0.15: "<module>.weight" [R,C] is stored as "<module>.compressed" [K], the
// values that are not 0, "<module>.bitmask" u8 [R, C/8 rounded up] (io/formats/bitmask_rows.h),
// "<module>.row_offsets" s64 [R] and "<module>.shape" s64 [2].
// docs/reference/formats/compressed.md.
#pragma once

#include <string>

#include "base/json.h"
#include "io/formats/lazy_tensor.h"

namespace smelt {

inline constexpr const char *kSparsityConfig = "sparsity_config",
                            *kSparseBitmask = "sparse-bitmask";

// Whether a config.json's quantization_config says so. UsageError, which `where` begins, for zeros
// that are stored in another way, and for codes besides.
bool is_sparse(const Json& config, const std::string& where);

// "<module>.weight" as f32 in the place of those four. UsageError beginning with `where` where one
// is missing or they do not fit together; on reading, where bits and values are not as many.
LazyTensors without_bitmasks(LazyTensors tensors, const std::string& where);

// The four of a matrix of floats [R,C] of which so many are not 0, by what follows the module's
// name and a dot. Each reads the matrix when it is read.
LazyTensors bitmask_tensors(const LazyTensor& matrix, std::int64_t not_zero);

}  // namespace smelt
