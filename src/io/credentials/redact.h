// What servers say, fit for a message.
#pragma once

#include <string>
#include <vector>

#include "io/http/secret.h"

namespace smelt {

// On one line of at most 300 characters; each of the secrets is "[secret]", also where it is
// percent-encoded, as is what has the form of one of Google's tokens.
std::string fit_for_message(const std::string& text, const std::vector<Secret>& secrets);

}  // namespace smelt
