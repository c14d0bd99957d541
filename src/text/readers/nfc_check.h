// A fast check for Unicode normalization form C (NFC).
#pragma once

#include <string_view>

namespace smelt::text {

// Returns whether the text is seen to be in NFC by its characters one by one, which takes a
// fraction of the time of ICU's check. If false, it may still be in NFC. False for ill-formed
// UTF-8.
bool is_quickly_nfc(std::string_view text);

}  // namespace smelt::text
