// From a recipe's labelled rows to the records that a classifier is trained on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pipeline/objective_type.h"
#include "pipeline/recipe.h"

namespace smelt {

// The files of data.train, data.validation and data.test. UsageError where there is nothing to
// train on.
std::vector<std::string> labelled_row_files(const Recipe& recipe);

// The classes' names as the records say them, or will say them, or a run without records that has
// begun; nothing where none is known.
std::vector<std::string> known_labels(const Recipe& recipe);

// The same, or the labels of data.train, which is read; nothing while a command has yet to print
// it.
std::vector<std::string> labels_to_come(const Recipe& recipe);

// Returns the flags by which `smelt predict` takes a row such as the recipe's: a text, a pair of
// texts, or a question and the text that is asked.
std::string example_flags(const Recipe& recipe);

// Reads the rows and throws the UsageError with which make_labelled() would refuse them.
void check_labelled_rows(const Recipe& recipe);
// Writes the set's records (data/preprocess/labelled_examples.h,
// data/preprocess/question_examples.h); how many there are.
std::uint64_t make_labelled(const Recipe& recipe, ExampleSet set);

// Writes a part's rows as ObjectiveType::write_rows has it; not of answers.
std::uint64_t write_rows_of(const Recipe& recipe, ExampleSet set, const std::string& file);

}  // namespace smelt
