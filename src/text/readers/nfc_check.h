// A fast check for Unicode normalization form C (NFC).
#pragma once

#include <string_view>

namespace smelt::text {

// Checks characters one by one, which is much faster than ICU's check. Returns true only if the
// text is certainly in NFC; if it returns false, the text may still be in NFC. Returns false for
// ill-formed UTF-8.
bool is_quickly_nfc(std::string_view text);

}  // namespace smelt::text
