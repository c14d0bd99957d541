// A data set of one's own: the rows that a command prints.
#pragma once

#include <cstdint>
#include <string>

namespace smelt {

struct CommandRowsJob {
  std::string command;  // as the shell reads it
  std::string what;     // the setting that has it: "data.train"
  std::string output;   // JSONL; replaced if there
  std::uint64_t most_bytes = std::uint64_t{4} << 30;
};

// Writes what the command prints on standard output, a JSON object a line, in bounded memory; how
// many rows they are. UsageError, with the last that it said on standard error, where it ends with
// another status than 0, prints a line that is no JSON object, prints none, or more than
// most_bytes; nothing is written then.
std::uint64_t write_command_rows(const CommandRowsJob& job);

}  // namespace smelt
