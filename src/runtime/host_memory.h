// How this process holds memory while the CPU plugin runs steps in it.
#pragma once

namespace smelt {

// Keeps what is freed until it was not asked for again during many steps: a step's temporaries are
// asked for anew each time, and faulting their pages in again costs more than computing on them
// (docs/performance.md). To be called before the plugin's threads start. For the whole process and
// for good; does nothing in a program built for a sanitizer, which has an allocator of its own.
void keep_freed_memory();

}  // namespace smelt
