// From text to BERT's pre-training examples: TFRecord files (docs/reference/formats/tfrecord.md)
// and a description beside them (docs/reference/formats/description.md).
#pragma once

#include <cstdint>

#include "data/preprocess/example_job.h"
#include "data/preprocess/example_order.h"
#include "data/preprocess/sentence_pairs.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

// `vocab` is a vocab.txt or tokenizer.json.
struct BertExamplesJob : ExampleJob {
  ExampleOrder order = ExampleOrder::shuffled;
  TokenizerFlags tokenizer;   // must agree with what is stored beside the vocabulary
  bool log_examples = false;  // the first 20, as the original program does; order original only
  PairOptions pairs;
};

struct BuildSummary {
  CorpusCounts text;
  std::uint64_t examples = 0, masked_tokens = 0;
};

// The outputs appear whole. UsageError for wrong options, missing or empty input, a vocabulary
// without the special tokens, an output that exists already.
BuildSummary build_bert_examples(const BertExamplesJob& job);

}  // namespace smelt
