// Flags that say what labelled rows that a model is asked about look like.
#pragma once

#include <string>

#include "pipeline/asked_rows.h"

namespace CLI {
class App;
}

namespace smelt {

struct RowColumns {
  std::string format = "auto", header = "names", prefix;
};

void add_column_flags(CLI::App& command, RowColumns& columns, AskedRows& rows);
// Once they are read.
void take_columns(const RowColumns& columns, const CLI::App& command, AskedRows& rows);

}  // namespace smelt
