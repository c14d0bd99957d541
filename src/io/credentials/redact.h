// Redaction of server responses for messages.
#pragma once

#include <string>
#include <vector>

#include "io/http/secret.h"

namespace smelt::io {

// Returns the text on one line of at most 300 characters. Replaces the secrets, also
// percent-encoded ones, and everything that looks like a Google token by "[secret]".
std::string fit_for_message(const std::string& text, const std::vector<Secret>& secrets);

}  // namespace smelt::io
