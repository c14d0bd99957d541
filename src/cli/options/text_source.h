// The texts for an inference command: --text, --input FILE or standard input.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace smelt::cli {

// A file with one text per line or row.
struct TextFile {
  std::string path, format = "auto", field = "text";
};
// Calls `take` with each text of the file, unnormalized, and its position, "questions.txt:3".
// `command` prefixes messages and names the progress line. Throws UsageError for an unreadable row
// and for a file that is not UTF-8.
void each_text_of(
    const TextFile& file, const std::string& command,
    const std::function<void(const std::string& text, const std::string& where)>& take);

// Calls `take` with each line of standard input, without its line end. Calls `before_wait` when no
// more input is ready and at the end, so that the caller can process the lines so far. Shows a
// prompt on a terminal.
void each_input_line(const std::function<void(std::string line)>& take,
                     const std::function<void()>& before_wait);

struct TextSource {
  std::vector<std::string> texts;  // values of --text
  TextFile file;  // file of --input; without a path and without --text, standard input is read
};
// Adds --text, --input, --format and --field.
void add_text_source(CLI::App& command, TextSource& source, const std::string& help_of_text);

// Calls `take` with the texts in order, normalized to NFC: all --text values in one batch, those of
// a file or standard input in batches of limited size. A batch ends early if no more input is
// ready. Throws UsageError if both --text and --input are given.
void each_batch(const TextSource& source, const std::string& command,
                const std::function<void(const std::vector<std::string>& texts)>& take);

}  // namespace smelt::cli
