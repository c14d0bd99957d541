// `smelt storage`: the commands of gsutil and gcloud storage.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt::cli {

void add_storage_command(CLI::App& app);

}  // namespace smelt::cli
