// Reader of Parquet files.
#pragma once

#include "text/readers/rows.h"

namespace smelt::text {

// Maximum size of a cell.
constexpr std::size_t kMaxCellBytes = std::size_t{64} << 20;

// Returns a reader of these columns. A row with a null, or with a cell of more than kMaxCellBytes,
// is a bad row. Throws UsageError if a column is a list, binary data that is not text, or of
// another type than requested.
std::unique_ptr<RowReader> open_parquet(const std::string& path, const std::vector<Field>& fields,
                                        FaultSink faults);

}  // namespace smelt::text
