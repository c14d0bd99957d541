// The Python environment with the oracles (transformers, safetensors …), and how to run it.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "support/command.h"
#include "support/missing.h"
#include "support/paths.h"

namespace smelt {

inline std::string oracle_python() { return source_path(".venv-oracle/bin/python"); }

// Runs a Python script; `command` is its path and its arguments, for the shell. Under ctest the
// script runs in a separate process, forked from a server that has already imported TensorFlow.
inline CommandOutput run_oracle(const std::string& command) {
  return run_command(
      str(oracle_python(), " ", source_path("tests/support/oracle_server.py"), " run ", command));
}

}  // namespace smelt

// Skips the test if .venv-oracle, which scripts/test installs, is missing; fails it instead if
// SMELT_REQUIRE contains "oracle".
#define REQUIRE_ORACLE()                                  \
  if (!std::filesystem::exists(::smelt::oracle_python())) \
  SKIP_OR_FAIL_WITHOUT("oracle", ::smelt::oracle_python() \
                                     << " is missing; scripts/test installs it")
