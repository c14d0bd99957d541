// Converts text to ELECTRA's pre-training examples: TFRecord files
// (docs/reference/formats/tfrecord.md) and a description (docs/reference/formats/description.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/preprocess/electra_builder.h"
#include "data/preprocess/example_job.h"
#include "data/preprocess/example_order.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::data {

// `vocab` is a vocab.txt or tokenizer.json. Control characters are handled as by ELECTRA unless the
// flags or the stored options of the vocabulary differ.
struct ElectraExamplesJob : ExampleJob {
  ExampleOrder order = ExampleOrder::shuffled;
  text::TokenizerFlags tokenizer;  // must agree with the options stored with the vocabulary
  ElectraOptions options;
  // For the original order: read all files of this folder, as the original program does, instead of
  // `text.input`.
  std::string folder;
};

// Writes the outputs atomically. Throws UsageError if options are invalid, the input is missing or
// empty, the vocabulary lacks special tokens, or an output already exists.
ExampleSummary build_electra_examples(const ElectraExamplesJob& job);

}  // namespace smelt::data
