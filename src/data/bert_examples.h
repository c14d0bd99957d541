// From text to BERT's pre-training examples: TFRecord files (docs/formats/tfrecord.md), byte for byte those
// of google-research/bert's create_pretraining_data.py for the same text, vocabulary, flags and seed.
#pragma once

#include <cstdint>
#include <string>

#include "data/sentence_pairs.h"
#include "data/text_corpus.h"

namespace smelt {

struct BertExamplesJob {
  std::string input;   // comma list of files and patterns: a sentence a line, a blank line after a document
  std::string vocab;
  std::string output;  // comma list of files; examples go to each in turn
  bool lower_case = true;
  bool strict = false;       // refuse text that is not UTF-8, rather than to drop those bytes and warn
  bool overwrite = false;    // of existing outputs
  bool description = true;   // write <first output>.json: options, counts, checksum of the vocabulary
  std::int64_t seed = 12345;
  PairOptions pairs;
};

struct BuildSummary {
  CorpusCounts text;
  std::uint64_t examples = 0, masked_tokens = 0;
};

// All outputs appear, or none. UsageError for wrong options, missing or empty input, a vocabulary without
// the special tokens, an output that exists already.
BuildSummary build_bert_examples(const BertExamplesJob& job);

}  // namespace smelt
