// Options that name a model: a folder, or a repository on the Hugging Face Hub.
#pragma once

#include <CLI/CLI.hpp>

namespace smelt::cli {

// Lets an option accept ORG/NAME: it becomes hf://ORG/NAME unless a folder of this name exists here
// (io/filesystem/model_path.h). Returns the option.
CLI::Option* accept_hub_names(CLI::Option* option);

}  // namespace smelt::cli
