// Tables as text, with the names of the columns in the first line or with numbers for names.
#pragma once

#include "text/readers/rows.h"

namespace smelt {

// In all formats every row has as many fields as the first line, if that names the columns. Empty
// lines do not count.

// Fields between tabs, without quotes or escapes. A field that a program seems to have quoted is
// reported to the sink as a quoted_cell.
std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults);
// Fields between commas (RFC 4180): one in double quotes may hold commas, line breaks and, twice,
// double quotes. If a quote does not end where it should, only the first line of that row is left
// out: the lines behind it are read again, as rows. A row of several lines that is refused for
// another reason counts as so many bad rows.
std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults);
// Fields between tabs, quoted as those of a CSV.
std::unique_ptr<RowReader> open_quoted_tsv(const std::string& path,
                                           const std::vector<Field>& fields, Header header,
                                           FaultSink faults);

}  // namespace smelt
