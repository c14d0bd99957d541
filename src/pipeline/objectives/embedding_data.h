// Makes the records of model.type embedding from a recipe's rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the files of data.train, data.validation and data.test. Throws UsageError if there is
// nothing to train on.
std::vector<std::string> embedding_row_files(const Recipe& recipe);
// Reads the rows and throws the UsageError that make_embedding_examples() would throw for them.
void check_embedding_rows(const Recipe& recipe);
// Writes the records of a split (data/preprocess/embedding_examples.h). Returns their number.
std::uint64_t make_embedding_examples(const Recipe& recipe, ExampleSet set);
// Returns the sequence lengths of batches; empty if there is only one, or the examples are not made
// yet.
std::vector<std::int64_t> embedding_lengths(const Recipe& recipe);

// Parses whole numbers above 0, separated by commas; an empty text has none. Throws UsageError,
// which begins with `where` and has the hint to write `form`, for anything else.
std::vector<std::int64_t> positive_numbers_in(const std::string& where, const std::string& list,
                                              const std::string& form);

}  // namespace smelt::pipeline
