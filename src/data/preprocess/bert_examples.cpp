#include "data/preprocess/bert_examples.h"

#include "base/log.h"
#include "data/preprocess/bert_builder.h"
#include "data/preprocess/example_run.h"
#include "data/preprocess/original_order.h"
#include "data/preprocess/require.h"
#include "data/preprocess/shuffled_order.h"
#include "text/tokenizers/casing.h"

namespace smelt::data {
namespace {

void check_original(const BertExamplesJob& job) {
  require(job.pairs.next_sentence, "order original always draws next sentences",
          "use the shuffled order");
  check_plain_text(job.text);
}

}  // namespace

BuildSummary build_bert_examples(const BertExamplesJob& job) {
  const bool original = job.order == ExampleOrder::original;
  if (original) check_original(job);
  const CheckedJob checked(job);
  const CorpusReader reader(job.vocab, job.tokenizer, original);
  const BertBuilder builder(reader, job.pairs);
  if (job.pairs.max_predictions > job.pairs.seq_length)
    log_warning("max_predictions {} is more than seq_length {}: the rest is always padding",
                job.pairs.max_predictions, job.pairs.seq_length);
  log_files("Reading from input files", checked.inputs);
  const ExampleSummary summary =
      original ? build_in_original_order(checked, job, reader, builder)
               : build_in_shuffled_order(checked, reader.tokenizer(), builder);
  if (original && summary.text.sentences <= summary.text.documents)
    log_warning(
        "none of the {} documents has more than one sentence: every next sentence is random, and "
        "next_sentence_accuracy will be 1; put a sentence on a line and an empty line only between "
        "documents",
        summary.text.documents);
  builder.warn_of_random_next(summary.text, summary.counts);
  log_split_sentences(summary.text);
  if (summary.counts.size() > 1)
    warn_of_long_lines(summary.counts[1] / static_cast<std::uint64_t>(job.pairs.dupe_factor),
                       summary.text);
  log_info("Wrote {} total instances", summary.examples);
  unknown_count(summary.text).warn(job.text.input, job.vocab);
  return {.text = summary.text,
          .examples = summary.examples,
          .masked_tokens = summary.counts.empty() ? 0 : summary.counts.front()};
}

}  // namespace smelt::data
