// --project of the commands about a project's machines.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace smelt::cli {

inline void add_project_flag(CLI::App& command, std::string& project) {
  command.add_option("--project", project, "default: the one that smelt cloud whoami names");
}

}  // namespace smelt::cli
