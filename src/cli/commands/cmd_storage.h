// `smelt storage`: gsutil's and gcloud storage's lines.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt {

void add_storage_command(CLI::App& app);

}  // namespace smelt
