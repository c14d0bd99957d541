// How a record becomes a row of a batch.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/input_pipeline/batch.h"
#include "data/input_pipeline/record_index.h"

namespace smelt {

// Writes one tf.Example into a row of a batch made by empty_batch(features, …). UsageError naming
// file, record and feature for lists of another length and for values that the features do not
// allow; `index` and `record` tell where `data` comes from. Other features of the record are left
// aside.
void put_record(std::string_view data, const RecordIndex& index, std::uint64_t record,
                const Features& features, Batch& batch, std::size_t row);

}  // namespace smelt
