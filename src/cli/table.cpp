#include "cli/table.h"

#include <algorithm>
#include <iostream>

namespace smelt {

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i)
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    std::cout << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

}  // namespace smelt
