// Hardware facts that are stored with measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smelt {

struct MachineFacts {
  std::string processor;                // "AMD EPYC 9R14"; empty if unknown
  std::vector<std::string> extensions;  // instruction set extensions that affect matmul speed
  int threads = 1;                      // threads that this process may use
};
MachineFacts machine_facts();

// Returns the load average of the last minute, as `uptime` prints it, or -1 if unknown.
double machine_load();

// Returns the size of the machine's memory in bytes.
double machine_memory();

// Returns the peak resident memory of this process in bytes, or 0 if unknown.
std::uint64_t peak_memory();

}  // namespace smelt
