// Reads a data set from the output of a command.
#pragma once

#include <cstdint>
#include <string>

namespace smelt::data {

struct CommandRowsJob {
  std::string command;  // passed to the shell
  std::string what;     // name of the setting: "data.train"
  std::string output;   // JSONL file; overwritten
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
};

// Runs the command and writes its standard output, one JSON object per line, with bounded memory.
// Returns the number of rows. Throws UsageError, with the end of its standard error, and writes
// nothing if the command fails, prints a line that is not a JSON object, prints no rows, or prints
// more than most_bytes.
std::uint64_t write_command_rows(const CommandRowsJob& job);

}  // namespace smelt::data
