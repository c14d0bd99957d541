// Makes a classifier's records from a recipe's labelled rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe.h"

namespace smelt::pipeline {

// Returns the files of data.train, data.validation and data.test. Throws UsageError if there is
// nothing to train on.
std::vector<std::string> labelled_row_files(const Recipe& recipe);

// Returns the names of the classes: from data.labels, else from the description of the records,
// else from the checkpoint to resume; empty if they are not known yet or the problem has none.
std::vector<std::string> known_labels(const Recipe& recipe);

// Returns known_labels(). If that is empty, reads data.train and returns its labels, unless a
// command has yet to print the rows or data.records is set.
std::vector<std::string> labels_to_come(const Recipe& recipe);

// Returns the flags of `smelt predict` for a row of this recipe: a text, a pair of texts, or a
// question and its context.
std::string example_flags(const Recipe& recipe);

// Reads the rows and throws the UsageError that make_labelled() would throw for them.
void check_labelled_rows(const Recipe& recipe);
// Writes the records of a split (data/preprocess/labelled_examples.h,
// data/preprocess/question_examples.h). Returns their number.
std::uint64_t make_labelled(const Recipe& recipe, ExampleSet set);

// Writes the rows of a split, see ObjectiveType::write_rows. Not for answer_spans.
std::uint64_t write_rows_of(const Recipe& recipe, ExampleSet set, const std::string& file);

}  // namespace smelt::pipeline
