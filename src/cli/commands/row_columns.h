// Flags that describe the columns of labelled input rows.
#pragma once

#include <string>

#include "pipeline/compression/asked_rows.h"

namespace CLI {
class App;
}

namespace smelt::cli {

struct RowColumns {
  std::string format = "auto", header = "names", prefix;
};

void add_column_flags(CLI::App& command, RowColumns& columns, pipeline::RowsToPredict& rows);
// Stores the flags in `rows`, after the command line is parsed.
void take_columns(const RowColumns& columns, const CLI::App& command,
                  pipeline::RowsToPredict& rows);

}  // namespace smelt::cli
