// Which rows the parts of a recipe's examples are made of, by its section data.
#pragma once

#include <optional>
#include <string>

#include "examples/row_records.h"
#include "recipe/objective_type.h"

namespace smelt {

struct RowSource {
  std::string what, input;             // "data.train", and its files
  std::optional<RowSplit> split = {};  // none: all of its rows
};

// Held-out rows have files of their own, or are a share of the training's; a share of 0 leaves all
// rows to the training.
template <class Data>
RowSource row_source(const Data& data, ExampleSet set) {
  if (set == ExampleSet::test) return {.what = "data.test", .input = data.test};
  const bool train = set == ExampleSet::train;
  if (!train && !data.validation.empty())
    return {.what = "data.validation", .input = data.validation};
  RowSource out{.what = "data.train", .input = data.train};
  if (data.validation.empty() && data.validation_share > 0)
    out.split = RowSplit{.heldout = data.validation_share,
                         .seed = static_cast<std::uint64_t>(data.seed),
                         .part = train ? RowSplit::Part::train : RowSplit::Part::heldout};
  return out;
}

}  // namespace smelt
