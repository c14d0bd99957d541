#include "pipeline/objectives/unigram.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/plural.h"
#include "data/input_pipeline/example_source.h"

namespace smelt::pipeline {
namespace {

constexpr std::uint64_t kTrainExamples = 4096;
constexpr std::int64_t kRowsAtOnce = 64;

// Returns the count of each word in the first examples.
std::map<std::int32_t, double> count_words_of(const UnigramJob& job, const std::string& data,
                                              std::uint64_t examples) {
  const io::Features& features = job.task.features;
  const std::size_t feature = data::find_feature(features, job.feature);
  const auto source = data::open_examples({.input = data,
                                           .features = features,
                                           .kind = job.task.record_kind,
                                           .foreign = job.task.foreign,
                                           .windows = job.task.windows});
  std::map<std::int32_t, double> counts;
  for (const model::IdRange& range : job.words)
    for (std::int64_t id = range.begin; id < range.end; ++id)
      counts[static_cast<std::int32_t>(id)] = 0;
  examples = std::min(examples, source->size());
  for (std::uint64_t first = 0; first < examples; first += kRowsAtOnce) {
    const data::Batch batch = source->batch_in_order(first / kRowsAtOnce, kRowsAtOnce);
    const auto ids = batch.arrays[feature].values<std::int32_t>();
    const std::size_t rows = std::min<std::size_t>(kRowsAtOnce, examples - first);
    for (const std::int32_t id : ids.first(ids.size() / kRowsAtOnce * rows))
      if (const auto word = counts.find(id); word != counts.end()) ++word->second;
  }
  return counts;
}

}  // namespace

model::MeasuredValue unigram_measure(const UnigramJob& job) {
  const auto known = count_words_of(job, job.train, kTrainExamples),
             wanted = count_words_of(job, job.heldout, job.examples);
  double all = 0, loss = 0, weight = 0;
  for (const auto& [word, count] : known) all += count + 1;
  for (const auto& [word, count] : wanted) {
    loss -= count * std::log((known.at(word) + 1) / all);
    weight += count;
  }
  return {.name = job.name, .value = weight > 0 ? loss / weight : 0, .weight = weight};
}

// Returns the number of characters of a piece. A byte piece such as "<0xD0>" counts as 1 if it
// begins a character. The unknown piece counts as 0.
static double characters_of_piece(const text::Tokenizer& tokenizer, std::int32_t id) {
  if (id == tokenizer.unknown()) return 0;
  const std::string& piece = tokenizer.token(id);
  const bool is_byte = piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with('>');
  if (!is_byte) return static_cast<double>(characters(piece));
  return (std::stoi(piece.substr(3, 2), nullptr, 16) & 0xC0) == 0x80 ? 0 : 1;
}

double characters_of_words(const UnigramJob& job, const text::Tokenizer& tokenizer) {
  double all = 0, words = 0;
  for (const auto& [word, count] : count_words_of(job, job.heldout, job.examples)) {
    if (count == 0 || word >= tokenizer.size()) continue;
    all += count * characters_of_piece(tokenizer, word);
    words += count;
  }
  return words > 0 ? all / words : 0;
}

}  // namespace smelt::pipeline
