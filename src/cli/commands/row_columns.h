// Flags that describe the columns of labelled input rows.
#pragma once

#include <string>

#include "pipeline/compression/asked_rows.h"

namespace CLI {
class App;
}

namespace smelt {

struct RowColumns {
  std::string format = "auto", header = "names", prefix;
};

void add_column_flags(CLI::App& command, RowColumns& columns, AskedRows& rows);
// Stores the flags in `rows`, after the command line is parsed.
void take_columns(const RowColumns& columns, const CLI::App& command, AskedRows& rows);

}  // namespace smelt
