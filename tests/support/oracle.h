// The Python environment that holds the oracles (transformers, safetensors …), and how to run it.
#pragma once

#include <filesystem>
#include <string>

#include "support/command.h"
#include "support/missing.h"
#include "support/paths.h"

namespace smelt {

inline std::string oracle_python() { return source_path(".venv-oracle/bin/python"); }

}  // namespace smelt

// Ends the test where scripts/test has not installed the oracles.
#define REQUIRE_ORACLE()                                  \
  if (!std::filesystem::exists(::smelt::oracle_python())) \
  SKIP_OR_FAIL_WITHOUT("oracle", ::smelt::oracle_python() \
                                     << " is missing; scripts/test installs it")
