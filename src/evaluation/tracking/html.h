// HTML elements of report pages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::evaluation {

std::string table_cell(const std::string& html, std::string_view type = {});
// Returns a table head. The first `texts` columns contain text, the others numbers.
std::string table_head(const std::vector<std::string>& names, std::size_t texts = 1);
std::string html_table(const std::string& head, const std::string& rows);

// Returns a section, or an empty string if `content` is empty.
std::string html_section(std::string_view title, const std::string& content);
// Returns a self-contained page with style and script; the title is HTML.
std::string html_page(const std::string& title, const std::string& content);

}  // namespace smelt::evaluation
