// Counts what operator new gives out, to see whether a parser takes more than its input can
// justify.
#pragma once

#include <cstddef>

namespace smelt {

// Starts counting anew.
void watch_memory();
// The most bytes at a time since then.
std::size_t peak_allocated();

}  // namespace smelt
