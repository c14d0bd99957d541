// Finds the members of a JSON object (RFC 8259) without parsing their values.
#pragma once

#include <functional>
#include <string_view>

namespace smelt::text {

// Called with the key as written between its quotes, escapes included, and the text of the value.
// The value is only checked for matching quotes and brackets: it may be NaN, 1e999 or invalid
// UTF-8.
using VisitMember = std::function<void(std::string_view key, std::string_view value)>;

// Calls `visit` for each member in order. Returns false if the text is not one complete object,
// apart from white space around it.
bool for_each_member(std::string_view object, const VisitMember& visit);

}  // namespace smelt::text
