#include "data/preprocess/vocabulary_report.h"

#include <algorithm>

#include "base/error.h"

namespace smelt::data {

text::WordCounts words_of_report(const text::LinesOptions& text, int threads) {
  text::SampledLines lines(text);
  text::WordCounts words =
      text::count_words(lines, text::white_space_words(), threads, text.memory);
  if (words.empty())
    throw UsageError(str("--input: ", text.input, " holds no words"), "give files with text");
  return words;
}

VocabularyReport report_vocabulary(const std::string& path, const text::Tokenizer& tokenizer,
                                   const text::WordCounts& words) {
  VocabularyReport report;
  report.vocabulary = path;
  report.size = tokenizer.size();
  std::vector<bool> used(static_cast<std::size_t>(report.size));
  text::ScriptCounts scripts;
  for (const auto& [word, count] : words) {
    const std::vector<text::TokenSpan> spans = tokenizer.encode_with_offsets(word);
    scripts.add(word, spans, tokenizer.unknown(), static_cast<std::uint64_t>(count));
    report.words += count;
    report.pieces += count * std::ssize(spans);
    for (const text::TokenSpan& span : spans) {
      used[static_cast<std::size_t>(span.id)] = true;
      if (span.id == tokenizer.unknown()) report.unknown += count;
    }
    if (spans.size() == 1 && spans[0].id != tokenizer.unknown()) report.whole_words += count;
  }
  report.used = std::ranges::count(used, true);
  report.scripts = scripts.sorted();
  return report;
}

}  // namespace smelt::data
