// Labelled rows that data.train, data.validation and data.test name: files, or a command that
// prints them, "!./my_dataset.py train". Its rows are kept in the run's folder: what it prints
// another time may differ.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pipeline/recipe.h"
#include "pipeline/stage.h"

namespace smelt {

bool is_row_command(const std::string& value);
// Where a command's rows are kept; else the files as data: names them. `part`: "train",
// "validation" or "test".
std::string row_input(const Recipe& recipe, const std::string& part);
// The files of all parts. UsageError for one that is not there, but for what a command has yet to
// print.
std::vector<std::string> row_files(const Recipe& recipe);
// UsageError for a command without words, or beside a data.format that its rows do not have.
void check_row_commands(const Recipe& recipe);
// Returns the CRC32C of each local file among the words of a shell command, by its name, so that a
// stage runs again if a script has changed. A script that is gone is left out.
Json scripts_of(const std::string& command);
// Runs the part's command and keeps its rows; nothing where data: names files. It runs again where
// the command changes, or a script that it names, or its rows are gone.
std::optional<Stage> rows_stage(const Recipe& recipe, const std::string& part);
// Settings that name the rows which its commands have printed as files.
std::vector<std::string> kept_row_settings(const Recipe& recipe);

}  // namespace smelt
