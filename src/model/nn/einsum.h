// Einstein summation over two tensors: einsum("bqnd,bknd->bnqk", q, k).
#pragma once

#include <optional>
#include <string_view>

#include "compiler/ir/graph.h"

namespace smelt::model {

// Each letter names one dimension. A letter in both inputs and the result is a batch dimension. A
// letter in both inputs only is summed over. A letter in one input must also be in the result.
// Throws UsageError if two dimensions with the same letter differ. A malformed pattern is a bug.
// `result` is the element type of the result; the default is the type of a and b.
compiler::Tensor einsum(std::string_view pattern, compiler::Tensor a, compiler::Tensor b,
                        std::optional<compiler::DType> result = {});

}  // namespace smelt::model
