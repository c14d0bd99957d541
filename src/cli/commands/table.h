// Lines of columns.
#pragma once

#include <string>
#include <vector>

namespace smelt {

// The first line is the head; columns are as wide as their widest.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace smelt
