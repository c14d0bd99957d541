// In which order examples are made and written.
#pragma once

#include <string_view>

#include "text/readers/documents.h"

namespace smelt {

enum class ExampleOrder {
  shuffled,  // shuffled_order.h
  original,  // byte for byte what the original program makes; text files only, drawn by one thread
};
// UsageError naming the nearest one for an unknown name.
ExampleOrder parse_example_order(std::string_view name);
std::string_view name(ExampleOrder order);

// UsageError for options that the original order knows nothing of.
void check_plain_text(const DocumentOptions& text);

}  // namespace smelt
