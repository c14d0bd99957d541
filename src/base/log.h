// Where the program's messages go: to standard error, above a bar that is drawn there.
#pragma once

namespace smelt {

// Makes it spdlog's default. Warnings and errors are red or yellow on a terminal that has colours,
// and begin with "warning:" and "error:" elsewhere.
void set_up_log();

}  // namespace smelt
