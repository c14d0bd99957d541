// JSONL: an object a line; empty lines do not count.
#pragma once

#include "text/rows.h"

namespace smelt {

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::vector<Field>& fields,
                                      Utf8Filter& utf8);

}  // namespace smelt
