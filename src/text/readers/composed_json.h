// Unicode normalization of JSON values.
#pragma once

#include "base/json.h"

namespace smelt {

// Returns the value with all its texts composed (Unicode NFC). Names of fields stay as they are.
Json composed(Json value);

}  // namespace smelt
