// Where an inference command takes its texts from: --text, --input FILE or standard input.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace smelt {

// A file of texts, one a line or a row.
struct TextFile {
  std::string path, format = "auto", field = "text";
};
// Calls `take` with each text of the file, as it is written there, and its place,
// "questions.txt:3". `command` begins messages and names the progress line. Throws UsageError for a
// row that cannot be read and for a file in another encoding.
void each_text_of(
    const TextFile& file, const std::string& command,
    const std::function<void(const std::string& text, const std::string& where)>& take);

// Calls `take` with each line of standard input, without its end. Calls `before_wait` whenever no
// more input is ready, and at the end: what was taken so far is to be answered then. Shows a prompt
// on a terminal.
void each_input_line(const std::function<void(std::string line)>& take,
                     const std::function<void()>& before_wait);

struct TextSource {
  std::vector<std::string> texts;  // of --text
  TextFile file;  // of --input; if it has no path and there is no --text, standard input is read
};
// Adds --text, --input, --format and --field.
void add_text_source(CLI::App& command, TextSource& source, const std::string& help_of_text);

// Calls `take` with the texts, composed (Unicode NFC), in their order: those of --text together,
// those of a file or of standard input in batches. A batch ends early if no more input is ready.
// Throws UsageError if both --text and --input are given.
void each_batch(const TextSource& source, const std::string& command,
                const std::function<void(const std::vector<std::string>& texts)>& take);

}  // namespace smelt
