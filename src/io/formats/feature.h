// The features of a record: a list of named lists of numbers (docs/reference/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/shape.h"

namespace smelt::io {

struct Feature {
  std::string name;                              // name of the tf.Example's feature: "input_ids"
  compiler::DType dtype = compiler::DType::s32;  // s32 or f32
  compiler::Dims row = {};                       // shape in one record; {}: one number
  std::int64_t limit = 0;                        // s32: values are in [0, limit), at most 2^31
  std::string
      limit_name{};  // name of the setting that determines the limit, for messages: "vocab_size"

  // Returns the number of values in one record.
  std::int64_t count() const { return compiler::Shape{dtype, row}.elements(); }
};

using Features = std::vector<Feature>;

// Returns whether a row has `length` tokens, or several texts with `length` tokens each.
inline bool has_tokens(const Feature& feature, std::int64_t length) {
  return (feature.row.size() == 1 || feature.row.size() == 2) && feature.row.back() == length;
}

// A feature that identifies records of another kind, even if they have all required features.
// Example: "masked_lm_positions" identifies records of kind "bert".
struct ForeignFeature {
  std::string name, kind;
};

}  // namespace smelt::io
