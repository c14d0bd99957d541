// The members of a JSON object (RFC 8259) as they stand in its text, without parsing the values.
#pragma once

#include <functional>
#include <string_view>

namespace smelt {

// The key between its quotes, with its escapes; the value from its first to its last character. Of
// a value nothing is promised but that its quotes and brackets match: what nobody asks for may be
// a NaN, 1e999, or text that is not UTF-8.
using VisitMember = std::function<void(std::string_view key, std::string_view value)>;

// Calls visit for each member in order. False when the text is not one whole object, white space
// around it aside.
bool for_each_member(std::string_view object, const VisitMember& visit);

}  // namespace smelt
