// A process whose standard output or error is a pipe that nobody reads any more, such as that of
// `| tee log` after Ctrl-C or of a lost ssh connection.
#pragma once

namespace smelt {

// Keeps SIGPIPE from ending this process, from now on. For commands whose results are files: a line
// that cannot be written is dropped. Programs that it starts still end at SIGPIPE.
void outlive_output_reader();

// Returns whether outlive_output_reader() was called and standard output has lost its reader.
bool has_outlived_output_reader();

}  // namespace smelt
