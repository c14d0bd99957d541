// Identifies data, so that a resumed run can detect that its data changed.
#pragma once

#include "base/json.h"
#include "data/input_pipeline/example_source.h"

namespace smelt::data {

// Returns a fingerprint that does not need reading all data: {"records": number, "crc32c": checksum
// of the features of 64 evenly spaced records including the first and last}, and the source's
// layout().
Json data_fingerprint(const ExampleSource& source);

}  // namespace smelt::data
