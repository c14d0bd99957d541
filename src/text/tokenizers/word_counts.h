// Counts the words of text files.
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

namespace smelt::text {

constexpr std::int64_t kWordMemory = std::int64_t{4} << 30;  // bytes

struct LinesOptions {
  // comma-separated files and patterns; .gz, .bz2 and .zst files are decompressed
  std::string input;
  TextFormat format = {};
  TextLimits limits = {};             // limits on input that is skipped because it is invalid
  std::int64_t memory = kWordMemory;  // bytes for the counts and for training from them
  // share of the lines to sample; whether a line is sampled depends only on its number
  double sample = 1;
  std::string segment_command = {};  // splits the lines into words (text/tokenizers/segmenter.h)
};

struct LinesSummary {
  std::int64_t lines = 0;           // lines sampled
  std::uint64_t dropped_bytes = 0;  // bytes that were not UTF-8, in all lines
};

class Segmenter;

// Reads the lines of many files in order, or a sample of them.
class SampledLines {
 public:
  // Throws UsageError if a file is missing, or if the sample is not greater than 0 and at most 1.
  // For `threads` see LineSource.
  explicit SampledLines(const LinesOptions& options, int threads = 0);

  bool next(std::string& line);
  const LinesSummary& summary() const { return summary_; }
  // Returns the bytes read so far, including lines that are not sampled: bytes of the files as
  // stored, or of the lines if these are more (compressed files).
  std::uint64_t bytes_read() const { return std::max(source_.bytes_read(), line_bytes_); }

 private:
  bool is_taken(std::uint64_t number) const;
  bool next_as_read(std::string& line);

  LineSource source_;
  double sample_;
  std::shared_ptr<const Segmenter> segmenter_;  // null if lines are not segmented
  std::deque<std::string> segmented_;           // lines segmented in advance
  std::uint64_t number_ = 0;                    // number of lines before the next one, in all files
  std::uint64_t line_bytes_ = 0;
  LinesSummary summary_;
  std::optional<Progress> progress_;  // set while lines are read
};

using WordCounts = std::map<std::string, std::int64_t>;
using EmitWord = std::function<void(std::string_view)>;
using WordSplitter = std::function<void(std::string_view line, const EmitWord&)>;

// Collects words that are too long to be anything but [UNK]. Thread-safe.
class LongWords {
 public:
  // `word` is the beginning of the long word.
  void add(std::string_view word);
  std::int64_t count() const { return count_; }
  // If there are any, logs their number and the beginnings of the alphabetically first three.
  void warn(std::size_t limit) const;

 private:
  static constexpr std::size_t kShown = 3, kCharactersShown = 20;

  std::mutex mutex_;
  std::int64_t count_ = 0;
  std::set<std::string> examples_;
};

// Splits text into the words of the BasicTokenizer. Words that are too long to be anything but
// [UNK] are added to `long_words` instead.
WordSplitter bert_words(const TokenizerOptions& options, LongWords* long_words = nullptr);
WordSplitter white_space_words();

// Approximate memory that the counts and the trainer need for a word of `length` bytes.
constexpr std::size_t bytes_of_word(std::size_t length) { return 256 + 24 * length; }

// Counts the words of `lines`. The result does not depend on the number of threads. Counts beyond
// half of `memory` (bytes) are stored in a temporary file. If there are more words than fit
// (bytes_of_word), the least frequent ones are dropped and a warning is logged. Words with the same
// count are either all kept or all dropped. Throws UsageError if `memory` is less than 1 MB.
WordCounts count_words(SampledLines& lines, const WordSplitter& split, int threads,
                       std::int64_t memory = kWordMemory);

}  // namespace smelt::text
