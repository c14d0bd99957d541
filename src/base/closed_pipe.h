// Handling of a closed output pipe. The program that reads standard output or error may end first:
// for example `tee` after Ctrl-C in `smelt … | tee log`, or a lost ssh connection.
#pragma once

namespace smelt {

// Makes this process survive SIGPIPE from now on, for commands whose results are files; output that
// cannot be written is dropped. Programs that it starts still end at SIGPIPE.
void outlive_output_reader();

// Returns whether outlive_output_reader() was called and standard output has lost its reader.
bool has_outlived_output_reader();

}  // namespace smelt
