// Classifies errors of the TPU API by the action that they require.
#pragma once

#include <string>

#include "base/error.h"
#include "cloud/google_api.h"

namespace smelt::cloud {

enum class TpuFault {
  capacity,   // the zone has no such TPU now: try another zone, or the queue
  quota,      // the project's quota is exhausted
  rate,       // too many requests: retry later
  disabled,   // the project has not enabled the API
  denied,     // a permission is missing
  not_found,  // the resource, the zone or the type does not exist
  exists,     // the name is in use
  passing,    // an error on Google's side, or a node preempted during creation: retry later
  other
};

// Returns the kind of an error. Distinguishes capacity and quota errors by the text of the message,
// because both have the code RESOURCE_EXHAUSTED.
TpuFault kind_of(const ApiFault& fault);

// An API error of the kind TpuFault::other. The same request may succeed later.
class OtherRefusal : public UsageError {
  using UsageError::UsageError;
};

// Throws UsageError "cloud: <what>: …" with a hint for the kind of the error (OtherRefusal for
// `other`). Throws SystemError for capacity, rate, passing and all server errors.
[[noreturn]] void throw_fault(const ApiFault& fault, const std::string& what,
                              const std::string& project);

}  // namespace smelt::cloud
