// How often each word stands in text files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "text/readers/line_source.h"
#include "text/tokenizers/tokenizer_options.h"

namespace smelt {

constexpr std::int64_t kWordMemory = std::int64_t{4} << 30;  // bytes

struct LinesOptions {
  std::string input;  // comma list of files and patterns; .gz, .bz2 and .zst are unpacked
  TextFormat format = {};
  TextLimits limits = {};             // of what is left out because it cannot be read
  std::int64_t memory = kWordMemory;  // for counts of words and what is made of them
  double sample = 1;  // share of the lines to take, each by a draw that depends on its number alone
  std::string segment_command = {};  // splits the lines into words (text/tokenizers/segmenter.h)
};

struct LinesSummary {
  std::int64_t lines = 0;           // that were taken
  std::uint64_t dropped_bytes = 0;  // of all lines
};

class Segmenter;

// The lines of many files one after another, perhaps a sample of them.
class SampledLines {
 public:
  // UsageError for a missing file or a share that is not above 0 and at most 1.
  // `threads` as LineSource's.
  explicit SampledLines(const LinesOptions& options, int threads = 0);

  bool next(std::string& line);
  const LinesSummary& summary() const { return summary_; }
  // Returns the bytes read so far, including lines that are not sampled: of the files as stored, or
  // of the lines if that is more, as it is for compressed files.
  std::uint64_t bytes_read() const { return std::max(source_.bytes_read(), line_bytes_); }

 private:
  bool is_taken(std::uint64_t number) const;
  bool next_as_read(std::string& line);

  LineSource source_;
  double sample_;
  std::shared_ptr<const Segmenter> segmenter_;  // null: lines are taken as they are
  std::deque<std::string> segmented_;           // read ahead
  std::uint64_t number_ = 0;                    // of lines before the next, in all files
  std::uint64_t line_bytes_ = 0;
  LinesSummary summary_;
  std::optional<Progress> progress_;  // while lines are read
};

using WordCounts = std::map<std::string, std::int64_t>;
using EmitWord = std::function<void(std::string_view)>;
using WordSplitter = std::function<void(std::string_view line, const EmitWord&)>;

// The words that are too long to be anything but [UNK]. Several threads may add to it.
class LongWords {
 public:
  // `word`: its first characters.
  void add(std::string_view word);
  std::int64_t count() const { return count_; }
  // Logs how many there are and how the first three by the alphabet begin, if there are any.
  void warn(std::size_t limit) const;

 private:
  static constexpr std::size_t kShown = 3, kCharactersShown = 20;

  std::mutex mutex_;
  std::int64_t count_ = 0;
  std::set<std::string> examples_;
};

// Those of the BasicTokenizer, without the ones that are too long to be anything but [UNK], which
// are added to `long_words`.
WordSplitter bert_words(const TokenizerOptions& options, LongWords* long_words = nullptr);
WordSplitter white_space_words();

// What the counts and the trainer hold of a word with so many bytes, about.
constexpr std::size_t bytes_of_word(std::size_t length) { return 256 + 24 * length; }

// The same for any number of threads. Beyond half of `memory` (bytes) counts lie in a temporary
// file. Of more words than it holds (bytes_of_word) those that stand least often are left out, all
// of the same count together, of which one warning tells. UsageError for less than 1 MB.
WordCounts count_words(SampledLines& lines, const WordSplitter& split, int threads,
                       std::int64_t memory = kWordMemory);

}  // namespace smelt
