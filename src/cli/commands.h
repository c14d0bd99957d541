// The commands of the program, one file each (cmd_*.cpp); commands.cpp lists them.
#pragma once

namespace smelt {

// Parses, runs the command, prints an error as one message. Returns the exit code: 0 done, 1 the
// world failed, 2 the user can mend it, 70 a bug.
int run_command_line(int argc, char** argv);

}  // namespace smelt
