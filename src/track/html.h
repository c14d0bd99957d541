// Pieces of the page of runs (track/page.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt {

std::string table_cell(const std::string& html, std::string_view type = {});
// The first `texts` columns are texts, others numbers.
std::string table_head(const std::vector<std::string>& names, std::size_t texts = 1);
std::string html_table(const std::string& head, const std::string& rows);

}  // namespace smelt
