// int8 weights in compressed-tensors' format "int-quantized": "<module>.weight" i8 [rows,columns]
// with "<module>.weight_scale" [rows,1] or [1]. The quantization_config in config.json may also
// request int8 activations, with a dynamic scale per row or the static scale "<module>.input_scale"
// [1]. See docs/reference/formats/compressed.md.
#pragma once

#include <string>

#include "base/json.h"
#include "io/formats/lazy_tensor.h"

namespace smelt::checkpoint {

inline constexpr const char *kQuantizationConfig = "quantization_config",
                            *kQuantMethod = "compressed-tensors", *kIntQuantized = "int-quantized",
                            *kScaleSuffix = "_scale", *kInputScale = ".input_scale";

// Whether a config.json declares int8, int4 or sparse weights (sparse_weights.h). Throws UsageError
// that begins with `where` for any other quantization. Logs a warning if the config asks for
// quantized activations in a form other than activations_by_row() or activations_by_input_scale():
// smelt then computes activations in floating point.
bool is_quantized(const Json& config, const std::string& where);

// Returns the input_activations field of a quantization group in config.json, for int8 activations
// with a dynamic scale per row.
Json activations_by_row();
// Returns the input_activations field for int8 activations with the static scale
// "<module>.input_scale".
Json activations_by_input_scale();

// Replaces each int8 weight and its scales by one f32 tensor that is decoded when it is read. The
// int8 values and the scales remain available in its LazyTensor::codes; LazyCodes::of_rows is true
// if the config requests int8 activations for the weight. Throws UsageError that begins with
// `where` if a scale is missing or has a shape or type other than described above, or if the
// quantization has zero points, which are not supported.
io::LazyTensors with_decoded_weights(io::LazyTensors tensors, const Json& config,
                                     const std::string& where);

// Replaces each weight with int8 activations by its int8 values. Adds the weight's scales under
// scales_name() and a static input scale under input_scale_name() (model/nn/scope.h). Returns other
// tensors unchanged.
io::LazyTensors as_codes(const io::LazyTensors& tensors);

// The int8 values and f32 scales [rows,1] of a floating-point matrix [rows,columns].
struct QuantizedTensor {
  io::LazyTensor codes, scales;
};
// Quantizes a matrix lazily: the matrix is read and quantized each time the int8 values or the
// scales are read. Reading throws UsageError that begins with `what` if a value is not finite.
QuantizedTensor coded(const io::LazyTensor& matrix, const std::string& what);

}  // namespace smelt::checkpoint
