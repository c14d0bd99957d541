#include "text/tokenizers/word_counts.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/plural.h"
#include "io/filesystem/file.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/character_table.h"
#include "text/tokenizers/segmenter.h"
#include "text/tokenizers/word_runs.h"
#include "text/tokenizers/word_scanner.h"

namespace smelt::text {
namespace {

constexpr std::size_t kBatchBytes = 1 << 20;
constexpr std::int64_t kLeastMemory = 1 << 20;

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
using Table = std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>>;

void read_batches(SampledLines& lines, BoundedQueue<std::string>& queue) {
  std::string batch, line;
  while (lines.next(line)) {
    (batch += line) += '\n';
    if (batch.size() < kBatchBytes) continue;
    if (!queue.push(std::move(batch))) return;
    batch.clear();
  }
  queue.push(std::move(batch));
}

// The word counts of one thread.
class WordTable {
 public:
  WordTable(std::size_t memory, WordRuns& runs) : memory_(memory), runs_(runs) {}

  void count(std::string_view batch, const WordSplitter& split) {
    split(batch, [&](std::string_view word) {
      const auto found = counts_.find(word);
      if (found != counts_.end()) {
        ++found->second;
        return;
      }
      counts_.emplace(word, 1);
      bytes_ += kTableBytes + word.size();
      if (bytes_ > memory_) flush();
    });
  }
  void flush() {
    std::vector<WordRuns::Count> sorted(counts_.begin(), counts_.end());
    std::ranges::sort(sorted);
    runs_.add(sorted);
    counts_.clear();
    bytes_ = 0;
  }
  const Table& counts() const { return counts_; }

 private:
  static constexpr std::size_t kTableBytes = 96;  // approximate overhead per word

  std::size_t memory_, bytes_ = 0;
  WordRuns& runs_;
  Table counts_;
};

using ForEachWord = std::function<void(const WordRuns::Visit&)>;

// Returns the smallest count such that all words with at least that count fit in the memory.
std::int64_t least_count(const ForEachWord& for_each, std::uint64_t memory) {
  std::map<std::int64_t, std::uint64_t, std::greater<>> bytes_of;  // of all words, by their count
  for_each([&](std::string_view word, std::int64_t count) {
    bytes_of[count] += bytes_of_word(word.size());
  });
  std::uint64_t bytes = 0;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [count, more] : bytes_of) {
    if ((bytes += more) > memory) break;
    least = count;
  }
  return least;
}

WordCounts keep_most_frequent(const ForEachWord& for_each, std::uint64_t memory) {
  const std::int64_t least = least_count(for_each, memory);
  WordCounts kept;
  std::int64_t left_out = 0;
  for_each([&](std::string_view word, std::int64_t count) {
    if (count >= least)
      kept.emplace_hint(kept.end(), word, count);
    else
      ++left_out;
  });
  if (kept.empty() && left_out > 0)
    throw UsageError(str("vocab: ", memory >> 20, " MB of memory is too small for ",
                         counted(left_out, "different word"), ": too many are equally frequent"),
                     "raise --memory, or take fewer lines with --sample");
  if (left_out > 0)
    log_warning(
        "vocab: {} that occur fewer than {} times are skipped to fit in {} MB of memory; "
        "raise --memory to keep more words",
        counted(left_out, "different word"), least, memory >> 20);
  return kept;
}

}  // namespace

SampledLines::SampledLines(const LinesOptions& options, int threads)
    : source_(io::expand_patterns(options.input, "--input"), options.format, options.limits,
              threads),
      sample_(options.sample),
      segmenter_(Segmenter::of(options.segment_command)) {
  if (!(sample_ > 0 && sample_ <= 1))
    throw UsageError(str("vocab: --sample ", sample_, ": must be greater than 0 and at most 1"),
                     "use 0.1 to sample a tenth of the lines");
}

bool SampledLines::is_taken(std::uint64_t number) const {
  return sample_ == 1 || philox(0, number, 0)[0] < sample_ * 4294967296.0;
}

bool SampledLines::next(std::string& line) {
  constexpr std::size_t kLines = 256, kBytes = 1 << 16;  // sent to the command at once
  if (!segmenter_) return next_as_read(line);
  if (segmented_.empty()) {
    std::vector<std::string> lines;
    for (std::size_t bytes = 0; lines.size() < kLines && bytes < kBytes && next_as_read(line);) {
      to_nfc(line);  // as tokenizers do before they split a text
      bytes += line.size();
      lines.push_back(line);
    }
    for (std::string& words : segmenter_->split_lines(lines))
      segmented_.push_back(std::move(words));
  }
  if (segmented_.empty()) return false;
  line = std::move(segmented_.front());
  segmented_.pop_front();
  return true;
}

bool SampledLines::next_as_read(std::string& line) {
  using Event = LineSource::Event;
  if (!progress_)
    progress_.emplace("reading", static_cast<std::int64_t>(source_.total_bytes()),
                      Progress::kBytes);
  for (Event event; (event = source_.next(line)) != Event::end;) {
    progress_->update(static_cast<std::int64_t>(source_.bytes_read()));
    if (event != Event::line) continue;
    line_bytes_ += line.size();
    if (!is_taken(number_++)) continue;
    ++summary_.lines;
    return true;
  }
  source_.faults().finish();
  summary_.dropped_bytes = source_.faults().dropped_bytes();
  progress_.reset();
  return false;
}

void LongWords::add(std::string_view word) {
  const std::lock_guard lock(mutex_);
  ++count_;
  examples_.insert(std::string(word));
  if (examples_.size() > kShown) examples_.erase(std::prev(examples_.end()));
}

void LongWords::warn(std::size_t limit) const {
  if (count_ == 0) return;
  std::vector<std::string> shown;
  for (const std::string& word : examples_) shown.push_back(shortened(word, kCharactersShown));
  log_warning(
      "vocab: {} of more than {} characters {} left out; each is [UNK] ({})\n"
      "  hint: text without spaces between words needs --type unigram (vocab.type=unigram), or "
      "spaces between its words",
      counted(count_, "word"), limit, count_ == 1 ? "is" : "are", join(shown, ", "));
}

WordSplitter bert_words(const TokenizerOptions& options, LongWords* long_words) {
  return [&table = CharacterTable::of(options), longest = options.max_characters_per_word,
          nfc = options.nfc, long_words](std::string_view text, const EmitWord& emit) {
    const auto add_long = [&](std::string_view word) {
      if (long_words != nullptr) long_words->add(word);
    };
    if (nfc && !is_nfc(text))
      return for_each_word(table, smelt::text::nfc(std::string(text)), longest, emit, add_long);
    for_each_word(table, text, longest, emit, add_long);
  };
}

WordSplitter white_space_words() {
  return [](std::string_view text, const EmitWord& emit) {
    constexpr std::string_view kSpace = " \t\n\r\f\v";
    for (std::size_t begin = 0;
         (begin = text.find_first_not_of(kSpace, begin)) != std::string_view::npos;) {
      const std::size_t end = std::min(text.size(), text.find_first_of(kSpace, begin));
      emit(text.substr(begin, end - begin));
      begin = end;
    }
  };
}

WordCounts count_words(SampledLines& lines, const WordSplitter& split, int threads,
                       std::int64_t memory) {
  if (memory < kLeastMemory)
    throw UsageError(str("vocab: --memory ", memory, " is less than ", kLeastMemory, " bytes"),
                     "leave it out for 4GB");
  const auto bytes = static_cast<std::size_t>(memory);
  BoundedQueue<std::string> queue(2 * static_cast<std::size_t>(threads));
  WordRuns runs;
  std::vector<WordTable> tables(static_cast<std::size_t>(threads),
                                WordTable(bytes / 2 / static_cast<std::size_t>(threads), runs));
  run_parallel(
      threads + 1,
      [&](int worker) {
        if (worker == threads) {
          read_batches(lines, queue);
          return queue.close();
        }
        while (const auto batch = queue.pop())
          tables[static_cast<std::size_t>(worker)].count(*batch, split);
      },
      [&] { queue.close(); });
  if (runs.empty()) {
    WordCounts counts;
    for (const WordTable& table : tables)
      for (const auto& [word, count] : table.counts()) counts[word] += count;
    std::uint64_t needed = 0;
    for (const auto& [word, count] : counts) needed += bytes_of_word(word.size());
    if (needed <= bytes) return counts;
    return keep_most_frequent(
        [&](const WordRuns::Visit& visit) {
          for (const auto& [word, count] : counts) visit(word, count);
        },
        bytes);
  }
  for (WordTable& table : tables) table.flush();
  return keep_most_frequent([&](const WordRuns::Visit& visit) { runs.merge(visit); }, bytes);
}

}  // namespace smelt::text
