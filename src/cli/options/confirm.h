// What is asked of who sits there, before something is removed or paid for.
#pragma once

#include <string_view>

namespace smelt {

// "<question> [y/N] ": whether the answer is y or yes. Where standard input is no terminal nobody
// is asked, and it is no. The question is on standard error.
bool is_agreed_to(std::string_view question);

// Goes on where `agreed` is said already or the answer is yes; else what did not happen is said,
// "nothing was made; --yes makes it", and ExitStatus 1 thrown.
void require_agreement(bool agreed, std::string_view question, std::string_view otherwise);

}  // namespace smelt
