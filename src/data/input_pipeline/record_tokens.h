// How many tokens records hold, padding not counted: what bucketing by length and packing need to
// know.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_pipeline/record_index.h"

namespace smelt {

// The feature whose ones tell the tokens from padding, as BERT's records have it.
inline constexpr std::string_view kTokenMask = "input_mask";

// Of each record: the ones in its feature `mask`. From the files' indexes; a file without one is
// read.
std::vector<std::uint32_t> token_counts(const RecordIndex& index, std::string_view mask);

// Reads a whole file of tf.Examples, checks that each has the features of the first, as many
// numbers in each, and writes the file's index (data/input_pipeline/record_index_file.h), with the
// ones in the feature `mask`; when none is named, in kTokenMask if there is such a feature.
// UsageError for the first fault. Returns the number of records.
std::uint64_t index_records(const std::string& file, std::string_view mask = {});

}  // namespace smelt
