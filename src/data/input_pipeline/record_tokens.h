// Counts the tokens of records without padding, for bucketing by length and packing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_pipeline/record_index.h"

namespace smelt::data {

// The feature of BERT's records that is 1 for tokens and 0 for padding.
inline constexpr std::string_view kTokenMask = "input_mask";

// Returns the number of ones in the feature `mask` of each record, from the files' indexes. A file
// without an index is read.
std::vector<std::uint32_t> token_counts(const RecordIndex& index, std::string_view mask);

// Reads a file of tf.Examples, checks that all have the features of the first with the same number
// of values, and writes the file's index (data/input_pipeline/record_index_file.h) with the number
// of ones in the feature `mask`. If `mask` is empty, uses kTokenMask if that feature exists. Throws
// UsageError at the first invalid record. Returns the number of records.
std::uint64_t index_records(const std::string& file, std::string_view mask = {});

}  // namespace smelt::data
