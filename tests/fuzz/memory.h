// Counts the bytes that operator new allocates, to detect a parser that allocates more than its
// input justifies.
#pragma once

#include <cstddef>

namespace smelt {

// Starts a new count.
void watch_memory();
// Returns the most bytes that were allocated at one time since then, without those from before.
std::size_t peak_allocated();

}  // namespace smelt
