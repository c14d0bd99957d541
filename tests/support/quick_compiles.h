// Fast compilation for tests that compile many programs and run few steps of each.
#pragma once

#include "support/environment.h"

namespace smelt {

// While this object lives, programs that are started compile for the CPU without LLVM's
// optimizations, which halves the time of a compilation and slows down the steps.
class QuickCompiles {
  const ScopedVariable flags_{"XLA_FLAGS", "--xla_backend_optimization_level=0"};
};

}  // namespace smelt
