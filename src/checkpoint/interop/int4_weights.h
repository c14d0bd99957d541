// Weights in four bits as compressed-tensors' folders of format "pack-quantized" hold them:
// "<module>.weight_packed" i32 [rows, columns/8] (io/formats/int4_groups.h),
// "<module>.weight_scale" [rows, columns/group] and "<module>.weight_shape" [2].
// docs/reference/formats/compressed.md.
#pragma once

#include <string>

#include "base/json.h"
#include "io/formats/int4_groups.h"
#include "io/formats/lazy_tensor.h"

namespace smelt {

inline constexpr const char *kPackQuantized = "pack-quantized", *kPackedSuffix = "_packed",
                            *kShapeSuffix = "_shape";

// Returns whether a folder's config.json has the format "pack-quantized".
bool is_packed(const Json& config);

// "<module>.weight" as f32 in the place of each of those three. UsageError beginning with `where`
// where one is missing, they do not fit together, or codes are not about 0.
LazyTensors without_packed(LazyTensors tensors, const std::string& where);

// The three of a matrix [rows,columns], by what follows its own name.
LazyTensors packed_tensors(const Int4Groups& codes, std::int64_t rows);

}  // namespace smelt
