// What a measurement was made on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct MachineFacts {
  std::string processor;                // "AMD EPYC 9R14"; empty where the system does not say it
  std::vector<std::string> extensions;  // of its instructions, those that products depend on
  int threads = 1;                      // that this process may use
};
MachineFacts machine_facts();

// Of the last minute, as `uptime` has it: about how many programs wanted to run. -1 where the
// system does not say it.
double machine_load();

// Bytes of its memory.
double machine_memory();

// The most memory that this process has held at once, in bytes; 0 where the system does not say it.
std::uint64_t peak_memory();

}  // namespace smelt
