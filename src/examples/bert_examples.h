// From text to BERT's pre-training examples: TFRecord files (docs/formats/tfrecord.md) and a
// description beside them (docs/formats/description.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "examples/example_job.h"
#include "examples/sentence_pairs.h"
#include "tokenize/tokenizer_config.h"

namespace smelt {

enum class ExampleOrder {
  shuffled,  // shuffled_order.h
  original,  // byte for byte what google-research/bert's create_pretraining_data.py makes; text
             // files only, all in memory, one thread
};
// UsageError naming the nearest one for an unknown name.
ExampleOrder parse_example_order(std::string_view name);
std::string_view name(ExampleOrder order);

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
