// Reader of JSONL: one object per line. Empty lines are skipped. If a key occurs twice, the last
// one is used.
#pragma once

#include "text/readers/rows.h"

namespace smelt::text {

std::unique_ptr<RowReader> open_jsonl(const std::string& path, const std::vector<Field>& fields,
                                      FaultSink faults);

}  // namespace smelt::text
