// Columns of a Parquet file.
#pragma once

#include "text/readers/rows.h"

namespace smelt {

// Of a cell.
constexpr std::size_t kMaxCellBytes = std::size_t{64} << 20;

// A row with null in one of them, or with a cell of more than kMaxCellBytes, is a bad one.
// UsageError for a column of lists, of bytes that are no text, or of another type than asked for.
std::unique_ptr<RowReader> open_parquet(const std::string& path, const std::vector<Field>& fields,
                                        FaultSink faults);

}  // namespace smelt
