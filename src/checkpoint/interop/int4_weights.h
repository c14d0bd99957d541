// int4 weights in compressed-tensors' format "pack-quantized": "<module>.weight_packed" i32 [rows,
// columns/8] (io/formats/int4_groups.h), "<module>.weight_scale" [rows, columns/group] and
// "<module>.weight_shape" [2]. See docs/reference/formats/compressed.md.
#pragma once

#include <string>

#include "base/json.h"
#include "io/formats/int4_groups.h"
#include "io/formats/lazy_tensor.h"

namespace smelt::checkpoint {

inline constexpr const char *kPackQuantized = "pack-quantized", *kPackedSuffix = "_packed",
                            *kShapeSuffix = "_shape";

// Returns whether a folder's config.json has the format "pack-quantized".
bool is_packed(const Json& config);

// Replaces the three tensors of each module by "<module>.weight" as f32, decoded on read. Throws
// UsageError that begins with `where` if one of the three is missing, shapes do not match, or the
// quantization is not symmetric.
io::LazyTensors without_packed(io::LazyTensors tensors, const std::string& where);

// Returns the three tensors of a matrix with `rows` rows. Their names lack the "<module>." prefix.
io::LazyTensors packed_tensors(const io::Int4Groups& codes, std::int64_t rows);

}  // namespace smelt::checkpoint
