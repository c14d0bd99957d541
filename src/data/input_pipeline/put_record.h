// Converts a record to a row of a batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/input_pipeline/batch.h"
#include "data/input_pipeline/record_index.h"

namespace smelt::data {

// Writes one tf.Example, `data`, to a row of a batch made by empty_batch(features, …). Throws
// UsageError if a list has another length or a value is not allowed. The message names the feature
// and, as the place of `data`, the file and the number of record `record` of the index. Other
// features of the record are ignored.
void put_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                const io::Features& features, Batch& batch, std::size_t row);

}  // namespace smelt::data
