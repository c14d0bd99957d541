// Splits text into words with an external program, such as MeCab for Japanese.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_filter.h"
#include "text/tokenizers/mapped_text.h"

namespace smelt::text {

// Allows this process to run a command that is stored with a vocabulary. The command must come from
// the user, because a model folder may come from an untrusted source.
void allow_segment_command(const std::string& command);

// Runs a command that reads lines and writes each one with spaces between its words. The command
// may add and remove white space but must not change anything else, so that each word can be mapped
// to the text. Thread-safe; each thread runs its own process.
class Segmenter {
 public:
  explicit Segmenter(std::string command, LineFilter::Seconds silence = LineFilter::kSilence);
  // Returns the segmenter of this command, which all tokenizers of the process share. Null if the
  // command is empty.
  static std::shared_ptr<const Segmenter> of(const std::string& command);

  const std::string& command() const { return command_; }
  // Throws UsageError if the command is not allowed. `origin` is the file that contains it.
  void check_allowed(std::string_view origin) const;
  // Returns the text with one space between words; white space at the ends becomes one space.
  // Throws UsageError if the command is not allowed or changes the text, and the errors of
  // LineFilter if it cannot be run or fails.
  MappedText split(const MappedText& text) const;
  std::string split(std::string_view utf8) const;
  // Splits several lines in one exchange with the command.
  std::vector<std::string> split_lines(std::span<const std::string> lines) const;
  // Runs three short lines through a separate process, to detect early that the program is missing
  // or drops lines. Throws as split() does.
  void try_out() const;

 private:
  std::vector<std::string> passed_through(LineFilter& filter, std::span<const std::string> lines,
                                          bool is_last) const;
  std::vector<std::string> run(std::span<const std::string> lines) const;

  std::string command_;
  LineFilter::Seconds silence_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<LineFilter>> idle_;
};

}  // namespace smelt::text
