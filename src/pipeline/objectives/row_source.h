// The source files of the rows in each split, according to the recipe's section `data`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "data/input_pipeline/description.h"
#include "data/preprocess/row_records.h"
#include "io/filesystem/folder.h"
#include "io/formats/config.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"

namespace smelt::pipeline {

// Returns the recipe's section `data`, in which a command is replaced by the file of its rows.
template <class Data>
Data row_data(const Recipe& r) {
  auto data = io::parse_config<Data>(r.data, "data");
  data.train = row_input(r, "train");
  data.validation = row_input(r, "validation");
  data.test = row_input(r, "test");
  return data;
}

// Returns the names in a comma-separated list of columns.
inline std::vector<std::string> column_names(const std::string& list) {
  std::vector<std::string> out;
  for (const std::string_view name : split(list, ','))
    if (!trim(name).empty()) out.emplace_back(trim(name));
  return out;
}

// Returns the batch lengths in the description of the training examples (data.lengths auto). Empty
// if the examples do not exist yet or their longest length is not `seq_length`.
inline std::vector<std::int64_t> described_lengths(const Recipe& r, std::int64_t seq_length) {
  const auto files = record_files(RecipePaths(r).train_records);
  const auto described = files.empty() ? std::nullopt : data::find_description(files);
  std::vector<std::int64_t> out;
  if (described) out = described->all.value("lengths", out);
  return !out.empty() && out.back() == seq_length ? out : std::vector<std::int64_t>();
}

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
