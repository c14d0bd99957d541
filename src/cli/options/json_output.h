// The --json flag. With it, a command prints JSON objects on standard output, one per line, and
// messages for people on standard error. docs/reference/json.md describes the fields per command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/json.h"

namespace smelt::cli {

void add_json_flag(CLI::App& command, bool& json);

// Runs `work` and prints the object that it returns if `json` is set.
void print_result(bool json, const std::function<OrderedJson()>& work);

// Runs the work of a long command. If `json` is set, prints each event (base/events.h) when it
// happens, and at the end an event "result" with the object that `work` returns, or an event
// "error" with the exit code. Rethrows errors.
void print_events(bool json, const std::function<OrderedJson()>& work);

}  // namespace smelt::cli
