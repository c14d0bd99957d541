// What is asked of who sits there, before something is removed or paid for.
#pragma once

#include <string_view>

namespace smelt {

// "<question> [y/N] ": whether the answer is y or yes. Where standard input is no terminal nobody
// is asked, and it is no.
bool is_agreed_to(std::string_view question);

}  // namespace smelt
