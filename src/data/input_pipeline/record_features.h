// Determines the features of records in unknown files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/input_pipeline/record_index.h"
#include "io/formats/example.h"

namespace smelt::data {

// Returns the features of the first record in its order; the other records must have the same.
// Throws UsageError if it is not a tf.Example.
std::vector<io::ExampleFeature> first_features(const RecordIndex& index);

// Returns the feature with this name and kind, or null.
const io::ExampleFeature* find_feature(const std::vector<io::ExampleFeature>& features,
                                       std::string_view name, io::ExampleKind kind);

// Returns the kind in words, such as "integers".
std::string_view kind_name(io::ExampleKind kind);

// Throws UsageError, beginning with `place`, if an example does not have these features with the
// same number of values.
void check_features(const io::Example& example, const std::vector<io::ExampleFeature>& features,
                    const std::string& place);

}  // namespace smelt::data
