#include "cli/options/table.h"

#include <iostream>

#include "base/number_format.h"

namespace smelt::cli {

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::cout << table_text(rows);
}

}  // namespace smelt::cli
