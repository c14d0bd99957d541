// Einstein summation over two tensors: einsum("bqnd,bknd->bnqk", q, k).
#pragma once

#include <optional>
#include <string_view>

#include "compiler/ir/graph.h"

namespace smelt {

// Each letter names one dimension; a letter in both inputs and in the result is a batch dimension,
// one in both inputs only is summed, one in a single input must be in the result. UsageError when
// two dimensions of one letter differ (both shapes); a malformed pattern is a bug. `result` as in
// dot_general.
Tensor einsum(std::string_view pattern, Tensor a, Tensor b, std::optional<DType> result = {});

}  // namespace smelt
