// By what a resumed run knows its data again.
#pragma once

#include "base/json.h"
#include "data/input_pipeline/example_source.h"

namespace smelt {

// Tells data apart without reading all of them: {"records": how many, "crc32c": of what stands in
// the features of 64 of them, evenly spread from the first to the last}, and the source's
// layout().
Json data_fingerprint(const ExampleSource& source);

}  // namespace smelt
