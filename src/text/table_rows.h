// Tables as text, with the names of the columns in the first line or with numbers for names.
#pragma once

#include "text/rows.h"

namespace smelt {

// In both every row has as many fields as the first, where that names them; empty lines do not
// count.
// Fields between tabs, without quotes or escapes.
std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults);
// Fields between commas (RFC 4180): one in double quotes may hold commas, line breaks and, twice,
// double quotes.
std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults);

}  // namespace smelt
