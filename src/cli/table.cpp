#include "cli/table.h"

#include <iostream>

#include "base/figures.h"

namespace smelt {

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::cout << table_text(rows);
}

}  // namespace smelt
