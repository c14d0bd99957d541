// Weights in eight bits as compressed-tensors' folders of format "int-quantized" hold them: beside
// "<module>.weight" i8 [rows,columns] lies "<module>.weight_scale" [rows,1] or [1], and config.json
// has a quantization_config, which may want rows that come to be multiplied in codes, too, by
// scales of their own or by "<module>.input_scale" [1].
// docs/reference/formats/compressed.md.
#pragma once

#include <string>

#include "base/json.h"
#include "io/formats/lazy_tensor.h"

namespace smelt {

inline constexpr const char *kQuantizationConfig = "quantization_config",
                            *kQuantMethod = "compressed-tensors", *kIntQuantized = "int-quantized",
                            *kScaleSuffix = "_scale", *kInputScale = ".input_scale";

// Whether a config.json says so, or that weights are in four bits or sparse (sparse_weights.h).
// UsageError, which `where` begins, for another way than these; a word is logged where it wants
// activations rounded in another way than the two below, which they are not.
bool is_quantized(const Json& config, const std::string& where);

// What a group's input_activations say of rows in eight bits, each by a scale of its own that is
// taken as it comes; and of those that share a module's input_scale.
Json activations_by_row();
Json activations_by_input_scale();

// Codes times scales as f32, in the codes' place, with the codes (LazyTensor::codes), which are
// also of rows where the config.json wants those rounded in one of these ways. UsageError beginning
// with `where` for codes without a scale or with one of another shape, and for zero points.
LazyTensors without_codes(LazyTensors tensors, const Json& config, const std::string& where);

// What has LazyTensor::codes of rows, too, as these, and beside them scales_name() and, where there
// is one, input_scale_name() (model/nn/scope.h).
LazyTensors as_codes(const LazyTensors& tensors);

// The i8 codes and f32 scales [rows,1] of a matrix of floats [rows,columns].
struct CodedTensor {
  LazyTensor codes, scales;
};
// Each reads the matrix when it is read. UsageError then, beginning with `what`, for a value that
// is not finite.
CodedTensor coded(const LazyTensor& matrix, const std::string& what);

}  // namespace smelt
