// Converts a record to a row of a batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/input_pipeline/batch.h"
#include "data/input_pipeline/record_index.h"

namespace smelt::data {

// Writes the features of `data`, one tf.Example, to a row of a batch made by empty_batch(features,
// …). Ignores other features. Throws UsageError if a feature has the wrong number of values or a
// value is out of range. `index` and `record`, the record's number in it, are only used to name the
// file and the record in the message.
void put_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                const io::Features& features, Batch& batch, std::size_t row);

}  // namespace smelt::data
