// Unicode normalization of JSON values.
#pragma once

#include "base/json.h"

namespace smelt::text {

// Returns the value with all strings normalized to NFC. Names of fields are not changed.
Json composed(Json value);

}  // namespace smelt::text
