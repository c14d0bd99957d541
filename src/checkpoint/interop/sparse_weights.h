// Sparse weights in compressed-tensors' format "sparse-bitmask", which that package reads up to
// version 0.14. "<module>.weight" [R,C] is stored as "<module>.compressed" [K], the nonzero values;
// "<module>.bitmask" u8 [R, C/8 rounded up] (io/formats/bitmask_rows.h); "<module>.row_offsets" s64
// [R]; and "<module>.shape" s64 [2]. See docs/reference/formats/compressed.md.
#pragma once

#include <string>

#include "base/json.h"
#include "io/formats/lazy_tensor.h"

namespace smelt::checkpoint {

inline constexpr const char *kSparsityConfig = "sparsity_config",
                            *kSparseBitmask = "sparse-bitmask";

// Whether a config.json's quantization_config declares this format. Throws UsageError that begins
// with `where` for another sparse format, or if the weights are quantized as well.
bool is_sparse(const Json& config, const std::string& where);

// Replaces the four tensors of each module by "<module>.weight" as f32, decoded on read. Throws
// UsageError that begins with `where` if one is missing or shapes do not match; reading throws it
// if the bitmask and the values differ in number.
io::LazyTensors without_bitmasks(io::LazyTensors tensors, const std::string& where);

// Returns the tensors bitmask, compressed, row_offsets and shape of a matrix [R,C] with `not_zero`
// nonzero values. Their names lack the "<module>." prefix. The matrix is read each time one of the
// tensors is read.
io::LazyTensors bitmask_tensors(const io::LazyTensor& matrix, std::int64_t not_zero);

}  // namespace smelt::checkpoint
