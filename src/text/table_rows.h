// Tables as text, with the names of the columns in the first line.
#pragma once

#include "text/rows.h"

namespace smelt {

// In both every row has as many fields as the first; empty lines do not count.
// Fields between tabs, without quotes or escapes.
std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    FaultSink faults);
// Fields between commas (RFC 4180): one in double quotes may hold commas, line breaks and, twice,
// double quotes.
std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    FaultSink faults);

}  // namespace smelt
