#include "text/vocabulary_job.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "base/error.h"
#include "store/folder.h"
#include "text/basic_tokenizer.h"
#include "text/lines.h"
#include "text/tokenizer_config.h"
#include "text/vocabulary.h"

namespace smelt {
namespace {

std::map<std::string, std::int64_t> count_words(const VocabularyJob& job, VocabularySummary& summary) {
  const BasicTokenizer tokenizer(job.lower_case);
  Utf8Filter utf8(job.strict ? Utf8Filter::Mode::refuse : Utf8Filter::Mode::drop);
  std::unordered_map<std::string, std::int64_t> counts;
  std::vector<std::string> words;
  std::string line;
  for (const std::string& path : expand_patterns(job.input, "--input")) {
    LineReader lines(path);
    while (lines.next(line)) {
      utf8.apply(line, lines);
      words.clear();
      tokenizer.tokenize(line, words);
      for (std::string& word : words) ++counts[std::move(word)];
      summary.words += std::ssize(words);
      ++summary.lines;
    }
  }
  utf8.warn();
  summary.dropped_bytes = utf8.dropped_bytes();
  summary.distinct_words = std::ssize(counts);
  return {counts.begin(), counts.end()};
}

}  // namespace

VocabularySummary train_vocabulary(const VocabularyJob& job) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& path : {job.out, tokenizer_config_path(job.out)})
    if (!job.overwrite && exists(path))
      throw UsageError(str("--out: ", path, " exists"), "choose another name or give --overwrite");
  VocabularySummary summary;
  const auto counts = count_words(job, summary);
  if (counts.empty())
    throw UsageError(str("--input: ", job.input, " holds no words"), "give files with text");
  const Vocabulary vocabulary(train_wordpiece(counts, job.trainer), job.out);
  save_tokenizer_config(job.out, {.lower_case = job.lower_case});
  vocabulary.save(job.out);
  summary.size = vocabulary.size();
  summary.unused = std::ranges::count_if(
      vocabulary.tokens(), [](const std::string& token) { return token.starts_with("[unused"); });
  summary.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return summary;
}

}  // namespace smelt
