#include "data/preprocess/vocabulary_extend.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/parallel.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/tokenizer_json.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {
namespace {

// "[unused7]" or "[UNUSED_7]"
bool is_unused(std::string_view token) {
  const std::string lower = lower_case(token);
  if (!lower.starts_with("[unused") || !lower.ends_with("]")) return false;
  std::string_view number = std::string_view(lower).substr(7, lower.size() - 8);
  if (number.starts_with('_')) number.remove_prefix(1);
  return !number.empty() &&
         std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; });
}

struct Cost {
  std::int64_t pieces = 0, unknown = 0;
};

Cost cost_of(const text::WordCounts& words, const text::BertTokenizer& tokenizer) {
  Cost cost;
  std::vector<std::int32_t> ids;
  for (const auto& [word, count] : words) {
    ids.clear();
    tokenizer.encode_word(word, ids);
    cost.pieces += count * std::ssize(ids);
    if (ids.size() == 1 && ids[0] == tokenizer.unknown()) cost.unknown += count;
  }
  return cost;
}

// Returns the words and the number of pieces each saves, most first, ties in byte order.
std::vector<std::pair<std::string, std::int64_t>> savings(const text::WordCounts& words,
                                                          const text::BertTokenizer& tokenizer,
                                                          std::int64_t min_frequency) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  std::vector<std::int32_t> ids;
  for (const auto& [word, count] : words) {
    if (count < min_frequency ||
        text::to_code_points(word).size() > tokenizer.options().max_characters_per_word)
      continue;
    ids.clear();
    tokenizer.encode_word(word, ids);
    const bool unknown = ids.size() == 1 && ids[0] == tokenizer.unknown();
    const std::int64_t saved = count * (unknown ? 1 : std::ssize(ids) - 1);
    if (saved > 0) out.emplace_back(word, saved);
  }
  std::ranges::stable_sort(out, [](auto& a, auto& b) { return a.second > b.second; });
  return out;
}

std::int64_t wanted(const ExtendJob& job, std::int64_t unused) {
  if (job.count < 0 || job.min_frequency < 1)
    throw UsageError(str("vocab: --count ", job.count, " or --min-frequency ", job.min_frequency,
                         " is too small"),
                     "leave them out for the defaults");
  if (unused == 0)
    throw UsageError(str(job.vocab, ": has no [unusedN] token that a new word could replace"),
                     "train it with --unused N, or use another vocabulary");
  if (job.count > unused)
    throw UsageError(
        str(job.vocab, ": has ", unused, " unused tokens, fewer than --count ", job.count),
        "use a smaller --count");
  return job.count == 0 ? unused : job.count;
}

}  // namespace

ExtendSummary extend_vocabulary(const ExtendJob& job) {
  io::check_apart({job.out}, io::expand_patterns(job.text.input, "--input"));
  if (!job.overwrite && io::exists(job.out))
    throw UsageError(str("--out: ", job.out, " exists"), "choose another name or give --overwrite");
  const text::BertTokenizer before = text::BertTokenizer::load(job.vocab, job.tokenizer);
  if (!text::is_tokenizer_json(job.out)) before.vocabulary().check_fits_text(job.out);
  std::vector<std::string> tokens = before.vocabulary().pieces();
  ExtendSummary out;
  out.unused = std::ranges::count_if(tokens, is_unused);
  const std::int64_t count = wanted(job, out.unused);
  text::LinesOptions text = job.text;
  text.segment_command = before.options().segment_command;
  text::SampledLines lines(text);
  const int threads = job.threads > 0 ? static_cast<int>(job.threads) : available_threads();
  const text::WordCounts words =
      text::count_words(lines, text::bert_words(before.options()), threads, job.text.memory);
  out.added = savings(words, before, job.min_frequency);
  if (out.added.empty())
    throw UsageError(
        str("--input: ", job.text.input, ": no new word would reduce the number of pieces"),
        "lower --min-frequency, or give more text of the domain");
  if (std::ssize(out.added) > count) out.added.resize(static_cast<std::size_t>(count));
  auto place = tokens.begin();
  for (const auto& [word, saved] : out.added)
    *(place = std::find_if(place, tokens.end(), is_unused)) = word;
  const text::BertTokenizer after(
      text::Vocabulary(tokens, job.out, before.vocabulary().continuing_prefix(),
                       before.options().added),
      before.options());
  const Cost old_cost = cost_of(words, before), new_cost = cost_of(words, after);
  out.pieces_before = old_cost.pieces;
  out.pieces_after = new_cost.pieces;
  out.unknown_before = old_cost.unknown;
  out.unknown_after = new_cost.unknown;
  after.save(job.out);
  return out;
}

}  // namespace smelt::data
