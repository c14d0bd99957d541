// The source files of the rows in each split, according to the recipe's section `data`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "data/preprocess/row_records.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/row_commands.h"

namespace smelt::pipeline {

struct RowSource {
  std::string what, input;                   // field name such as "data.train", and its value
  std::optional<data::RowSplit> split = {};  // the part of the rows to use; nullopt: all rows
};

// Returns the source of the rows of a split. Held-out rows have their own files or are a share of
// the training rows. If that share is 0, there are no held-out rows; do not call it for them.
template <class Data>
RowSource row_source(const Data& data, ExampleSet set) {
  if (set == ExampleSet::test) return {.what = "data.test", .input = data.test};
  const bool train = set == ExampleSet::train;
  if (!train && !data.validation.empty())
    return {.what = "data.validation", .input = data.validation};
  RowSource out{.what = "data.train", .input = data.train};
  if (data.validation.empty() && data.validation_share > 0)
    out.split =
        data::RowSplit{.heldout = data.validation_share,
                       .seed = static_cast<std::uint64_t>(data.seed),
                       .part = train ? data::RowSplit::Part::train : data::RowSplit::Part::heldout};
  return out;
}

// Calls `check` with the source of each split that has its own files. Skips splits whose rows come
// from a command that has not run yet (pipeline/config/row_commands.h).
template <class Data>
void each_row_source(const Recipe& r, const Data& data,
                     const std::function<void(const RowSource&)>& check) {
  for (const auto& [set, part] : {std::pair{ExampleSet::train, "train"},
                                  {ExampleSet::heldout, "validation"},
                                  {ExampleSet::test, "test"}}) {
    const RowSource source = row_source(data, set);
    const bool is_share = set == ExampleSet::heldout && data.validation.empty();
    const bool is_to_come = is_row_command(r.data.value(part, "")) && !io::exists(source.input);
    if (!source.input.empty() && !is_share && !is_to_come) check(source);
  }
}

}  // namespace smelt::pipeline
