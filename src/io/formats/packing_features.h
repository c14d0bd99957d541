// The features that tell a training step how the sequences of a batch are packed
// (model/nn/packing.h, data/input_pipeline/pack.h).
#pragma once

#include "io/formats/feature.h"

namespace smelt::io {

inline constexpr const char *kPackedTokens = "packed_tokens", *kPackedStarts = "packed_starts",
                            *kPackedRows = "packed_rows";

// Returns the features of a batch with `slots` slots per sequence.
inline Features packing_features(std::int64_t slots) {
  return {{.name = kPackedTokens, .row = {slots}}, {.name = kPackedStarts}, {.name = kPackedRows}};
}

}  // namespace smelt::io
