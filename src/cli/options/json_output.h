// The --json flag, and what commands print with it: JSON objects, one a line, on standard output.
// Text for people goes to standard error then. docs/reference/json.md describes the fields of each
// command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/json.h"

namespace smelt {

void add_json_flag(CLI::App& command, bool& json);

// Runs the command's work, and prints the object that it returns if `json` is set.
void print_result(bool json, const std::function<OrderedJson()>& work);

// Runs the work of a long command. If `json` is set, prints each of its events (base/events.h) when
// it happens, and at the end an event "result" with the object that `work` returns, or an event
// "error" with the exit code. An error is thrown on.
void print_events(bool json, const std::function<OrderedJson()>& work);

}  // namespace smelt
