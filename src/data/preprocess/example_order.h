// The order in which examples are made and written.
#pragma once

#include <string_view>

#include "text/readers/documents.h"

namespace smelt::data {

enum class ExampleOrder {
  shuffled,  // shuffled_order.h
  original,  // same bytes as google-research's programs; text files only, one thread
};
// Throws UsageError, suggesting the nearest name, if the name is unknown.
ExampleOrder parse_example_order(std::string_view name);
std::string_view name(ExampleOrder order);

// Throws UsageError if an option is not supported in the original order.
void check_plain_text(const text::DocumentOptions& text);

}  // namespace smelt::data
