#include "pipeline/objectives/embedding_data.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "data/preprocess/embedding_examples.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/objectives/embedding_fields.h"
#include "pipeline/objectives/row_source.h"

namespace smelt::pipeline {
namespace {

data::LabelledFiles embedding_files(const Recipe& r, const std::string& input) {
  const EmbeddingData data = embedding_data(r);
  const bool scored = model::reads_scores(embedding_model(r).loss);
  const auto column = [](const std::string& name, const char* otherwise) {
    return name.empty() ? std::string(otherwise) : name;
  };
  data::LabelledFiles out;
  out.input = input;
  out.format = text::parse_file_format(data.format, "data.format");
  out.text = column(data.anchor, scored ? "sentence1" : "anchor");
  out.pair = column(data.positive, scored ? "sentence2" : "positive");
  out.label = scored ? column(data.score, "score") : "";
  out.header = data.header;
  out.needs_label = scored;
  out.needs_pair = true;
  out.others = column_names(data.negative);
  out.limits = {.max_bad = data.max_bad, .held_to = "data.max_bad"};
  return out;
}

// Logs a warning if the first row has a column of negatives that the recipe does not read.
void warn_of_unread_negatives(data::LabelledFiles files, const std::string& what) {
  if (!files.others.empty()) return;
  for (const char* name : {"negative", "negatives", "hard_negative", "hard_negatives"}) try {
      files.others = {name};
      auto rows = data::LabelledRows::quiet(files, what);
      data::LabelledRow row;
      if (!rows.next(row) || data::texts_in(row.others.front()).empty()) continue;
      log_warning(
          "{}: the column '{}' of {} is not read\n  hint: to train with these hard negatives, set "
          "data.negative to {}",
          what, name, files.input, name);
    } catch (const UsageError&) {
      continue;  // the rows lack this column
    }
}

}  // namespace

EmbeddingModel embedding_model(const Recipe& r) {
  return io::parse_config<EmbeddingModel>(r.model, "model");
}

EmbeddingData embedding_data(const Recipe& r) { return row_data<EmbeddingData>(r); }

std::vector<std::int64_t> positive_numbers_in(const std::string& where, const std::string& list,
                                              const std::string& form) {
  std::vector<std::int64_t> out;
  if (trim(list).empty()) return out;
  for (const std::string_view word : split(list, ',')) {
    const std::string_view number = trim(word);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size() || value < 1)
      throw UsageError(str(where, ": '", number, "' is not a whole number above 0"),
                       str("write ", form));
    out.push_back(value);
  }
  return out;
}

std::int64_t texts_per_example(const Recipe& r) {
  const EmbeddingData data = embedding_data(r);
  return 2 + (data.negatives > 0 ? data.negatives : std::ssize(column_names(data.negative)));
}

std::vector<std::string> embedding_row_files(const Recipe& r) {
  if (embedding_data(r).train.empty())
    throw UsageError("data.train: no pairs of texts",
                     "give files of JSONL, TSV, CSV or Parquet with --set data.train=…");
  return row_files(r);
}

void check_embedding_rows(const Recipe& r) {
  each_row_source(r, embedding_data(r), [&](const RowSource& source) {
    data::check_rows(embedding_files(r, source.input), source.what,
                     "give rows with two texts each");
  });
}

std::uint64_t make_embedding_examples(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const EmbeddingData data = embedding_data(r);
  const RowSource source = row_source(data, set);
  const bool train = set == ExampleSet::train;
  const data::EmbeddingExamplesJob job{.rows = embedding_files(r, source.input),
                                       .what = source.what,
                                       .split = source.split,
                                       .texts = texts_per_example(r),
                                       .max_score = data.max_score,
                                       .vocab = paths.vocab,
                                       .tokenizer = tokenizer_flags(r),
                                       .seq_length = data.seq_length,
                                       .output = set == ExampleSet::test ? paths.test_records
                                                 : train                 ? paths.train_output
                                                                         : paths.heldout_output,
                                       .keeps_rows = !train};
  const data::EmbeddingSummary s = data::write_embedding_examples(job);
  if (train && !model::reads_scores(embedding_model(r).loss))
    warn_of_unread_negatives(job.rows, job.what);
  log_info("data: {} of {} with {}: {} of them truncated to {} tokens, {} unknown tokens",
           counted(s.examples, "example"), job.what, counted(s.negatives, "hard negative"),
           percent(share(s.cut, s.examples)), job.seq_length, percent(share(s.unknown, s.tokens)));
  if (!model::reads_scores(embedding_model(r).loss) && train && s.repeated > 0) {
    if (embedding_model(r).mask_duplicates)
      log_info(
          "data: the positive of {} of {} occurs in an earlier row; it is not a negative in "
          "batches that contain both (model.mask_duplicates)",
          counted(s.repeated, "row"), job.what);
    else
      log_warning(
          "data: the positive of {} of {} occurs in an earlier row; in batches that "
          "contain both it is a false negative\n  hint: set model.mask_duplicates to true",
          counted(s.repeated, "row"), job.what);
  }
  return s.examples;
}

std::vector<std::int64_t> embedding_lengths(const Recipe& r) {
  const EmbeddingData data = embedding_data(r);
  if (data.lengths == "one") return {};
  if (data.lengths == "auto") return described_lengths(r, data.seq_length);
  auto given =
      positive_numbers_in("data.lengths", data.lengths, "auto, one, or lengths such as 32,64");
  std::erase_if(given, [&](std::int64_t length) { return length >= data.seq_length; });
  given.push_back(data.seq_length);
  std::ranges::sort(given);
  given.erase(std::unique(given.begin(), given.end()), given.end());
  return given;
}

}  // namespace smelt::pipeline
