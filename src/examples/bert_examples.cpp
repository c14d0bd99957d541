#include "examples/bert_examples.h"

#include <spdlog/spdlog.h>

#include <array>

#include "base/error.h"
#include "base/nearest_name.h"
#include "examples/bert_builder.h"
#include "examples/original_order.h"
#include "examples/require.h"
#include "examples/shuffled_order.h"

namespace smelt {
namespace {

const std::array<std::string, 2> kOrders{"shuffled", "original"};

void check_original(const BertExamplesJob& job) {
  require(job.pairs.next_sentence, "order original always draws next sentences",
          "take the shuffled order");
  require(job.text.format.name == "auto" && job.text.sentences == "lines" &&
              job.text.dedup == "none" && job.text.max_lines == 0,
          "order original reads text files as they are, one sentence a line",
          "take the shuffled order");
}

}  // namespace

ExampleOrder parse_example_order(std::string_view name) {
  for (std::size_t i = 0; i < kOrders.size(); ++i)
    if (name == kOrders[i]) return static_cast<ExampleOrder>(i);
  throw UsageError(str("training data: order '", name, "' is unknown"),
                   did_you_mean(name, kOrders));
}

std::string_view name(ExampleOrder order) { return kOrders.at(static_cast<std::size_t>(order)); }

BuildSummary build_bert_examples(const BertExamplesJob& job) {
  const bool original = job.order == ExampleOrder::original;
  if (original) check_original(job);
  const CheckedJob checked(job);
  const CorpusReader reader(job.vocab, job.tokenizer);
  const BertBuilder builder(reader, job.pairs);
  log_files("Reading from input files", checked.inputs);
  const ExampleSummary summary =
      original ? build_in_original_order(checked, job, reader, builder)
               : build_in_shuffled_order(checked, reader.tokenizer(), builder);
  spdlog::info("Wrote {} total instances", summary.examples);
  return {.text = summary.text,
          .examples = summary.examples,
          .masked_tokens = summary.counts.empty() ? 0 : summary.counts.front()};
}

}  // namespace smelt
