// What the TPU API refuses, told apart by what is to be done about it.
#pragma once

#include <string>

#include "cloud/google_api.h"

namespace smelt {

enum class TpuFault {
  capacity,   // the zone has no such TPU now: another zone, or the queue
  quota,      // the project may not have as many
  rate,       // too many requests: later
  disabled,   // the project has not enabled the API
  denied,     // a permission is missing
  not_found,  // the resource, the zone or the type
  exists,     // another of this name
  passing,    // Google's own trouble: later
  other
};

// Capacity and quota have one code, RESOURCE_EXHAUSTED, and are told apart by Google's words.
TpuFault kind_of(const ApiFault& fault);

// UsageError "cloud: <what>: …" with the hint of its kind; SystemError for capacity, rate and what
// is of no kind from a server that fails.
[[noreturn]] void throw_fault(const ApiFault& fault, const std::string& what,
                              const std::string& project);

}  // namespace smelt
