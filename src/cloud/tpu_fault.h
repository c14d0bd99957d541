// What the TPU API refuses, told apart by what is to be done about it.
#pragma once

#include <string>

#include "base/error.h"
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
  passing,    // a fault on Google's side, or a node preempted while it is created: retry later
  other
};

// Capacity and quota have one code, RESOURCE_EXHAUSTED, and are told apart by Google's words.
TpuFault kind_of(const ApiFault& fault);

// A refusal of the kind `other`: the same request may be accepted later.
class OtherRefusal : public UsageError {
  using UsageError::UsageError;
};

// Throws UsageError "cloud: <what>: …" with the hint of its kind (OtherRefusal for `other`);
// SystemError for capacity, rate, passing and any answer of a server that fails.
[[noreturn]] void throw_fault(const ApiFault& fault, const std::string& what,
                              const std::string& project);

}  // namespace smelt
