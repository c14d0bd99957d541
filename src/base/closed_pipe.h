// Handling of a closed output pipe: the reader of standard output or error has ended, such as `|
// tee log` after Ctrl-C or a lost ssh connection.
#pragma once

namespace smelt {

// Makes this process survive SIGPIPE from now on, for commands whose results are files; output that
// cannot be written is dropped. Programs that it starts still end at SIGPIPE.
void outlive_output_reader();

// Returns whether outlive_output_reader() was called and standard output has lost its reader.
bool has_outlived_output_reader();

}  // namespace smelt
