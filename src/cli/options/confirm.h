// Confirmation prompts, before a command deletes something or makes something that costs money.
#pragma once

#include <string_view>

namespace smelt::cli {

// Prints "<question> [y/N] " on standard error and returns true if the answer is y or yes. Returns
// false without a prompt if standard input is not a terminal.
bool is_agreed_to(std::string_view question);

// Asks the question, unless `agreed` is set. If the user does not agree, prints `otherwise`, such
// as "nothing was created; --yes creates it", and throws ExitStatus(1).
void require_agreement(bool agreed, std::string_view question, std::string_view otherwise);

}  // namespace smelt::cli
