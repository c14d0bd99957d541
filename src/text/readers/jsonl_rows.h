// JSONL: an object a line; empty lines do not count. Of a field named twice the last one counts.
#pragma once

#include "text/readers/rows.h"

namespace smelt {

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults);

}  // namespace smelt
