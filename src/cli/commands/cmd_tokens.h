// `smelt data tokens`, `smelt data convert`, and `smelt data inspect` for token stores.
#pragma once

#include <CLI/CLI.hpp>

#include "data/input_pipeline/inspect.h"

namespace smelt::cli {

void add_data_tokens_command(CLI::App& data);
void add_data_convert_command(CLI::App& data);

// Prints statistics of token stores or snapshot folders. Throws UsageError for ids out of range.
void print_token_statistics(const data::InspectOptions& options, bool json);

}  // namespace smelt::cli
