// Columns of a Parquet file. Rows where one of them is null do not count.
#pragma once

#include "text/rows.h"

namespace smelt {

// Of a cell.
constexpr std::size_t kMaxCellBytes = kMaxLineBytes;

// UsageError for a column of lists, of bytes that are no text, or of another type than asked for,
// and for a cell of more than kMaxCellBytes.
std::unique_ptr<RowReader> open_parquet(const std::string& path, const std::vector<Field>& fields,
                                        Utf8Filter& utf8);

}  // namespace smelt
