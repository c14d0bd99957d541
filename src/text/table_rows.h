// Tables as text, with the names of the columns in the first line.
#pragma once

#include "text/rows.h"

namespace smelt {

// Fields between tabs, without quotes or escapes.
std::unique_ptr<RowReader> open_tsv(const std::string& path, const std::vector<Field>& fields,
                                    Utf8Filter& utf8);
// Fields between commas (RFC 4180): one in double quotes may hold commas, line breaks and, twice,
// double quotes. Every row has as many fields as the first; empty lines do not count.
std::unique_ptr<RowReader> open_csv(const std::string& path, const std::vector<Field>& fields,
                                    Utf8Filter& utf8);

}  // namespace smelt
