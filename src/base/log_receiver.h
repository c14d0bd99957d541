// A log for programs that link smelt as a library.
#pragma once

#include <functional>
#include <string_view>

#include "base/log.h"

namespace smelt {

// Replaces the program's logger by one that passes each message of level info or higher to
// `receive` and prints nothing. Calls do not overlap.
void set_log_receiver(std::function<void(LogLevel level, std::string_view text)> receive);

}  // namespace smelt
