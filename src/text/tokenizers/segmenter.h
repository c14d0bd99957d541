// Text that an external program splits into words, such as MeCab for Japanese.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/line_filter.h"
#include "text/tokenizers/mapped_text.h"

namespace smelt {

// Lets this process run a command that is stored beside a vocabulary. The user must have given it:
// a model's folder may come from anyone.
void allow_segment_command(const std::string& command);

// Runs a command that reads lines and writes each one with spaces between its words. It may add and
// remove white space but change nothing else, so that each word has its place in the text. Several
// threads may use it at once; each has a process of its own.
class Segmenter {
 public:
  explicit Segmenter(std::string command, LineFilter::Seconds silence = LineFilter::kSilence);
  // Returns the segmenter of this command, which all tokenizers of the process share; null if the
  // command is empty.
  static std::shared_ptr<const Segmenter> of(const std::string& command);

  const std::string& command() const { return command_; }
  // Throws UsageError if the command is not allowed. `origin` is the file that names it.
  void check_allowed(std::string_view origin) const;
  // Returns the words of the text with one space between them; white space at the ends stays one
  // space. Throws UsageError if the command is not allowed, as LineFilter does, or if it changes
  // the text.
  MappedText split(const MappedText& text) const;
  std::string split(std::string_view utf8) const;
  // Does the same for each line, in one exchange with the command.
  std::vector<std::string> split_lines(std::span<const std::string> lines) const;
  // Passes three short lines through a process of its own, so that a program that is missing or
  // leaves out lines is found at once. Throws as split() does.
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

}  // namespace smelt
