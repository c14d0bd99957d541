// Readers of TSV and CSV files.
#pragma once

#include "text/readers/rows.h"

namespace smelt::text {

// In all formats every row must have as many fields as the first line, if that holds the column
// names. Empty lines are skipped.

// Fields are separated by tabs, without quotes or escapes. A field that seems to have been quoted
// by a program is reported to the sink as a quoted_cell.
std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults);
// Fields are separated by commas (RFC 4180). A field in double quotes may contain commas, line
// breaks and doubled double quotes. If a closing quote is missing or misplaced, only the first line
// of that row is skipped, and the next lines are read as rows. A row of several lines that is
// rejected for another reason counts as one bad row per line.
std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    Header header, FaultSink faults);
// Fields are separated by tabs and quoted as in a CSV.
std::unique_ptr<RowReader> open_quoted_tsv(const std::string& path,
                                           const std::vector<Field>& fields, Header header,
                                           FaultSink faults);

}  // namespace smelt::text
