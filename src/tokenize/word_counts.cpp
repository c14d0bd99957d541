#include "tokenize/word_counts.h"

#include <unordered_map>

#include "base/error.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "store/file.h"
#include "tokenize/character_table.h"
#include "tokenize/word_scanner.h"

namespace smelt {
namespace {

constexpr std::size_t kBatchBytes = 1 << 20;

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

void count_batch(std::string_view batch, const WordSplitter& split, Table& counts) {
  const EmitWord count = [&](std::string_view word) {
    const auto found = counts.find(word);
    if (found == counts.end())
      counts.emplace(word, 1);
    else
      ++found->second;
  };
  split(batch, count);
}

}  // namespace

SampledLines::SampledLines(const LinesOptions& options, int threads)
    : source_(expand_patterns(options.input, "--input"), options.format, options.limits, threads),
      sample_(options.sample) {
  if (!(sample_ > 0 && sample_ <= 1))
    throw UsageError(str("vocab: --sample ", sample_, " is not above 0 and at most 1"),
                     "0.1 takes a tenth of the lines");
}

bool SampledLines::is_taken(std::uint64_t number) const {
  return sample_ == 1 || philox(0, number, 0)[0] < sample_ * 4294967296.0;
}

bool SampledLines::next(std::string& line) {
  using Event = LineSource::Event;
  if (!progress_)
    progress_.emplace("reading", static_cast<std::int64_t>(source_.total_bytes()),
                      Progress::kBytes);
  for (Event event; (event = source_.next(line)) != Event::end;) {
    progress_->update(static_cast<std::int64_t>(source_.bytes_read()));
    if (event != Event::line || !is_taken(number_++)) continue;
    ++summary_.lines;
    return true;
  }
  source_.faults().finish();
  summary_.dropped_bytes = source_.faults().dropped_bytes();
  progress_.reset();
  return false;
}

WordSplitter bert_words(const TokenizerOptions& options) {
  return [&table = CharacterTable::of(options), longest = options.max_characters_per_word](
             std::string_view text, const EmitWord& emit) {
    for_each_word(table, text, longest, emit);
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

WordCounts count_words(SampledLines& lines, const WordSplitter& split, int threads) {
  BoundedQueue<std::string> queue(2 * static_cast<std::size_t>(threads));
  std::vector<Table> tables(static_cast<std::size_t>(threads));
  run_parallel(
      threads + 1,
      [&](int worker) {
        if (worker == threads) {
          read_batches(lines, queue);
          return queue.close();
        }
        while (const auto batch = queue.pop())
          count_batch(*batch, split, tables[static_cast<std::size_t>(worker)]);
      },
      [&] { queue.close(); });
  WordCounts counts;
  for (const Table& table : tables)
    for (const auto& [word, count] : table) counts[word] += count;
  return counts;
}

}  // namespace smelt
