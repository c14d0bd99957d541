// Fake quantization for quantization-aware training (Jacob et al. 2018, arXiv 1712.05877). Matmul
// inputs and kernels are rounded to int8 codes; gradients pass through unchanged (straight-through
// estimator, Bengio et al. 2013). Scales are computed from the current values, exactly as when the
// model folder is quantized (io/formats/int8_rows.h) and run with integer matmuls (fused_matmul()),
// so no value is out of range.
#pragma once

#include "compiler/ir/graph.h"

namespace smelt::model {

// A quantized tensor: codes * scales. No gradient flows through the scales.
struct FakeQuantized {
  compiler::Tensor codes;   // f32 with integer values, in the shape of x
  compiler::Tensor scales;  // f32
};

// Quantizes x f32 [..., I] per row with scale max|x| / 127; scales are [..., 1].
FakeQuantized fake_rows(compiler::Tensor x);
// Quantizes a kernel f32 [I,O] per output with scale max|w| / 127.5 and codes up to 127; scales are
// [O].
FakeQuantized fake_kernel(compiler::Tensor kernel);

}  // namespace smelt::model
