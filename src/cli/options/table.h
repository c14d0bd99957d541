// Prints aligned columns.
#pragma once

#include <string>
#include <vector>

namespace smelt::cli {

// Prints the rows with aligned columns. The first row is the header.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace smelt::cli
