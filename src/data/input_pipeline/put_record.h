// Converts a record to a row of a batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/input_pipeline/batch.h"
#include "data/input_pipeline/record_index.h"

namespace smelt::data {

// Writes one tf.Example to a row of a batch made by empty_batch(features, …). Throws UsageError
// with file, record and feature if a list has another length or a value is not allowed; The message
// names the place of `data`: record number `record` of the index. Other features of the record are
// ignored.
void put_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                const io::Features& features, Batch& batch, std::size_t row);

}  // namespace smelt::data
