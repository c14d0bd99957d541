// Language-specific rules for text normalization.
#pragma once

#include <string_view>

namespace smelt::text {

// Returns whether the language, a BCP-47 tag such as "tr" or "az-Latn", has a dotless i, so that
// lower-casing turns I into ı and İ into i. False if the tag is empty. Throws UsageError, which
// begins with `where`, if the tag is malformed.
bool has_turkic_case(std::string_view language, std::string_view where);

}  // namespace smelt::text
