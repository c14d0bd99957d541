// Additions to the help texts of commands: examples, a page of the docs, and search words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::cli {

struct CommandGuide {
  std::string_view command;                // "compress quantize"
  std::vector<std::string_view> examples;  // without "smelt "
  std::string_view page;                   // below docs/, without ".md"; empty: none
};

const std::vector<CommandGuide>& command_guides();

// Returns the examples and the page of a command as lines of help, or "" for one without a guide.
std::string guide_text(std::string_view command);

// Returns the commands for a search word, such as compress quantize for "quantize" or "8-bit".
// Empty if the word is unknown.
std::vector<std::string_view> commands_for(std::string_view word);

}  // namespace smelt::cli
