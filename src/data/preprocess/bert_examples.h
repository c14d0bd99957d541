// Converts text to BERT's pre-training examples: TFRecord files
// (docs/reference/formats/tfrecord.md) and a description (docs/reference/formats/description.md).
#pragma once

#include <cstdint>

#include "data/preprocess/example_job.h"
#include "data/preprocess/example_order.h"
#include "data/preprocess/sentence_pairs.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

// `vocab` is a vocab.txt or tokenizer.json.
struct BertExamplesJob : ExampleJob {
  ExampleOrder order = ExampleOrder::shuffled;
  text::TokenizerFlags tokenizer;  // must agree with the options stored with the vocabulary
  bool log_examples = false;  // log the first 20, as the original program does; original order only
  PairOptions pairs;
};

struct BuildSummary {
  CorpusCounts text;
  std::uint64_t examples = 0, masked_tokens = 0;
};

// Writes the outputs atomically. Throws UsageError if options are invalid, the input is missing or
// empty, the vocabulary lacks special tokens, or an output already exists.
BuildSummary build_bert_examples(const BertExamplesJob& job);

}  // namespace smelt::data
