// The flag --project, for the commands that work with a project's machines.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace smelt::cli {

inline void add_project_flag(CLI::App& command, std::string& project) {
  command.add_option("--project", project, "Google Cloud project; default: see smelt cloud whoami");
}

}  // namespace smelt::cli
