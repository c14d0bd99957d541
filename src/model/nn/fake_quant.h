// Training with fake quantization (Jacob et al. 2018, arXiv 1712.05877): what comes to a product
// and its kernel count as the codes of eight bits that they would be, and gradients pass as if
// nothing had been rounded (straight through; Bengio et al. 2013). Scales are those of what is at
// hand, as they are when the folder is quantized (io/formats/int8_rows.h) and computed in integers
// (fused_matmul), so nothing lies outside of its range and no gradient is left out.
#pragma once

#include "compiler/ir/graph.h"

namespace smelt {

// codes * scales is what counts; no gradient flows through scales.
struct FakeCodes {
  Tensor codes;   // whole numbers, f32, as x
  Tensor scales;  // f32
};

// x f32 [..., I]: each row by max|x| / 127; scales [..., 1].
FakeCodes fake_rows(Tensor x);
// kernel f32 [I,O]: each output by max|w| / 127.5, codes at most 127; scales [O].
FakeCodes fake_kernel(Tensor kernel);

}  // namespace smelt
