// Which features the records of unknown files have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/input_pipeline/record_index.h"
#include "io/formats/example.h"

namespace smelt {

// Of the first record, by which the others are judged, in its order. UsageError when it is no
// tf.Example.
std::vector<ExampleFeature> first_features(const RecordIndex& index);

// Null when there is none of this name and kind.
const ExampleFeature* find_feature(const std::vector<ExampleFeature>& features,
                                   std::string_view name, ExampleKind kind);

// "integers"
std::string_view kind_name(ExampleKind kind);

// UsageError beginning with `place` for an example that has not the same features, each with as
// many values.
void check_features(const Example& example, const std::vector<ExampleFeature>& features,
                    const std::string& place);

}  // namespace smelt
