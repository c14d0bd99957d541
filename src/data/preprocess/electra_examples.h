// From text to ELECTRA's pre-training examples: TFRecord files (docs/reference/formats/tfrecord.md)
// and a description beside them (docs/reference/formats/description.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/electra_builder.h"
#include "data/preprocess/example_job.h"
#include "data/preprocess/example_order.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt {

// `vocab` is a vocab.txt or tokenizer.json. Control characters go by ELECTRA's rule unless the
// flags, or what is stored beside the vocabulary, say otherwise.
struct ElectraExamplesJob : ExampleJob {
  ExampleOrder order = ExampleOrder::shuffled;
  TokenizerFlags tokenizer;  // must agree with what is stored beside the vocabulary
  ElectraOptions options;
  // Order original: all files of this folder, as the original takes them, and not `text.input`.
  std::string folder;
};

// The outputs appear whole. UsageError for wrong options, missing or empty input, a vocabulary
// without the special tokens, an output that exists already.
ExampleSummary build_electra_examples(const ElectraExamplesJob& job);

}  // namespace smelt
