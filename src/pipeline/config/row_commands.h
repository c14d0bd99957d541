// Labelled rows of data.train, data.validation and data.test, which are files or the output of a
// command such as "!./my_dataset.py train". The output is stored in the run's folder, because it
// may differ the next time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/config/recipe.h"
#include "pipeline/incremental/stage.h"

namespace smelt::pipeline {

bool is_row_command(const std::string& value);
// Returns the files of data.<part>, or, if it is a command, the file in which its rows are stored.
// `part` is "train", "validation" or "test".
std::string row_input(const Recipe& recipe, const std::string& part);
// Returns the files of all parts. Throws UsageError if one is missing, except for rows that a
// command has yet to print.
std::vector<std::string> row_files(const Recipe& recipe);
// Throws UsageError if a command is empty or data.format does not match its rows (JSONL).
void check_row_commands(const Recipe& recipe);
// Returns the CRC32C of each local file among the words of a shell command, by path, so that a
// stage runs again if a script has changed. Leaves out empty files and files above 1 MiB.
Json scripts_of(const std::string& command);
// Returns the stage that runs the command in data.<part> and stores its rows; nullopt if the field
// is not a command. The stage runs again if the command or one of its scripts changes, or if the
// rows are missing or have changed.
std::optional<Stage> rows_stage(const Recipe& recipe, const std::string& part);
// Returns settings that replace the recipe's commands by the files of their stored rows.
std::vector<std::string> stored_row_settings(const Recipe& recipe);

}  // namespace smelt::pipeline
