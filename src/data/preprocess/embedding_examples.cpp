#include "data/preprocess/embedding_examples.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "data/input_pipeline/length_groups.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/text_pair.h"
#include "text/tokenizers/unigram_json.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::data {
namespace {

// Returns a number from 1 to 2^31 - 1 that is equal for equal texts.
std::int32_t key_of(const std::vector<std::int32_t>& ids) {
  const auto* bytes = reinterpret_cast<const char*>(ids.data());
  const std::uint32_t sum = io::crc32c({bytes, ids.size() * sizeof(ids[0])});
  return std::max<std::int32_t>(1, static_cast<std::int32_t>(sum & 0x7fffffffU));
}

// Returns the score, divided by the largest one. Throws UsageError if it is not in range.
float score_of(const EmbeddingExamplesJob& job, const LabelledRow& row, const std::string& place) {
  const auto value = label_number(row.label);
  if (!value)
    throw UsageError(str(place, ": score '", row.label, "' is not a number"),
                     "name the column of the scores with data.score");
  const double score = *value / job.max_score;
  if (std::abs(score) > 1)
    throw UsageError(str(place, ": score ", row.label, " must be between ", -job.max_score, " and ",
                         job.max_score, ", the value of data.max_score"),
                     "set data.max_score to the largest score, such as 5 for STS-B");
  return static_cast<float>(score);
}

class TextsEncoder {
 public:
  explicit TextsEncoder(const EmbeddingExamplesJob& job)
      : job_(job),
        tokenizer_(text::BertTokenizer::load(job.vocab, job.tokenizer)),
        pairs_(tokenizer_, job.seq_length) {}

  // Encodes a row whose score was checked before. May be called from several threads.
  EncodedRow encode(const LabelledRow& row) {
    std::vector<std::string> texts{row.text, row.pair};
    for (const std::string& value : row.others)
      for (std::string& text : texts_in(value)) texts.push_back(std::move(text));
    texts.resize(std::min(texts.size(), static_cast<std::size_t>(job_.texts)));
    negatives_ += texts.size() - 2;
    const auto N = static_cast<std::size_t>(job_.texts);
    const auto S = static_cast<std::size_t>(job_.seq_length);
    std::vector<std::int32_t> ids, mask, keys(N, 0), tokens(S, 0);
    EncodedRow out{.record = {}};
    for (std::size_t n = 0; n < N; ++n) {
      text::TextPairIds one = pairs_.encode(n < texts.size() ? texts[n] : "", "");
      if (n < texts.size()) {
        keys[n] = key_of(one.ids);
        out.tokens = std::max(out.tokens, one.ids.size());
        out.is_cut = out.is_cut || one.cut > 0;
        tokens_ += one.ids.size();
        out.unknown +=
            text::count_text(texts[n], one.ids, tokenizer_, out.unknown_characters).unknown_tokens;
      }
      std::vector<std::int32_t> own_mask(one.ids.size(), 1);
      own_mask.resize(S);
      one.ids.resize(S);
      ids.insert(ids.end(), one.ids.begin(), one.ids.end());
      mask.insert(mask.end(), own_mask.begin(), own_mask.end());
    }
    std::fill_n(tokens.begin(), out.tokens, 1);
    io::ExampleWriter example;
    example.integers("input_ids", ids);
    example.integers("input_mask", mask);
    example.integers("tokens", tokens);
    example.integers("text_keys", keys);
    if (!job_.rows.label.empty()) example.reals("score", std::array{score_of(job_, row, "")});
    example.integers("is_real_example", std::array{1});
    io::append_record(out.record, example.take());
    return out;
  }

  std::uint64_t tokens() const { return tokens_; }
  std::uint64_t negatives() const { return negatives_; }

 private:
  const EmbeddingExamplesJob& job_;
  text::BertTokenizer tokenizer_;
  text::TextPairEncoder pairs_;
  std::atomic<std::uint64_t> tokens_ = 0, negatives_ = 0;
};

OrderedJson embedding_description(const EmbeddingExamplesJob& job, const EmbeddingSummary& s) {
  return {{"kind", "embedding"},
          {"files", {io::path_name(job.output)}},
          {"examples", s.examples},
          {"seq_length", job.seq_length},
          {"texts", job.texts},
          {"cut", s.cut},
          {"repeated_positives", s.repeated},
          {"negatives", s.negatives},
          {"lengths", s.lengths},
          {"vocabulary", {{"file", job.vocab}, {"crc32c", text::vocabulary_crc32c(job.vocab)}}},
          {"text", {{"tokens", s.tokens}, {"unknown_tokens", s.unknown}}}};
}

}  // namespace

std::vector<std::string> texts_in(const std::string& value) {
  std::vector<std::string> out;
  if (const Json list = value.starts_with('[') ? Json::parse_or_discard(value) : Json();
      list.is_array() &&
      std::ranges::all_of(list, [](const Json& one) { return one.is_string(); })) {
    for (const Json& one : list) out.push_back(one.get<std::string>());
  } else {
    out.push_back(value);
  }
  std::erase_if(out, [](const std::string& one) { return trim(one).empty(); });
  for (std::string& one : out) text::to_nfc(one);
  return out;
}

EmbeddingSummary write_embedding_examples(const EmbeddingExamplesJob& job) {
  const auto wanted = wanted_rows(job.rows, job.what, job.split,
                                  [](const LabelledRow&, const std::string&) { return 0; });
  TextsEncoder encoder(job);
  RowRecords records(job.output,
                     [&](const LabelledRow& row) { return std::vector{encoder.encode(row)}; });
  std::optional<io::OutputFile> kept;
  if (job.keeps_rows) kept.emplace(rows_beside(job.output));
  auto rows = rows_to_write(job.rows, job.what, job.split);
  std::unordered_set<std::size_t> positives;
  EmbeddingSummary out;
  std::size_t number = 0;
  for (LabelledRow row; rows.next(row); ++number) {
    if (job.split && !wanted.at(number)) continue;
    if (!job.rows.label.empty()) (void)score_of(job, row, rows.place());
    if (!positives.insert(std::hash<std::string>()(row.pair)).second) ++out.repeated;
    if (kept) kept->write(row_line(row));
    records.add(std::move(row));
  }
  static_cast<RowCounts&>(out) = records.finish();
  out.tokens = encoder.tokens();
  out.negatives = encoder.negatives();
  if (out.examples == 0)
    throw_no_example(job.rows, job.what, job.split, number, "give rows with two texts each");
  out.lengths = lengths_for(out.tokens_of_each, job.seq_length);
  io::write_file(job.output + ".json", embedding_description(job, out).dump(2) + "\n");
  text::UnknownCount{
      .unknown = out.unknown, .tokens = out.tokens, .characters = out.unknown_characters}
      .warn(job.what, job.vocab);
  if (kept) kept->commit();
  records.commit();
  return out;
}

}  // namespace smelt::data
