// From text to BERT's pre-training examples: TFRecord files (docs/formats/tfrecord.md) and a
// description beside them (docs/formats/description.md).
#pragma once

#include <cstdint>
#include <string>

#include "examples/sentence_pairs.h"
#include "examples/text_corpus.h"
#include "text/documents.h"
#include "tokenize/tokenizer_config.h"

namespace smelt {

struct BertExamplesJob {
  DocumentOptions text;
  std::string vocab;        // vocab.txt or tokenizer.json
  std::string output;       // comma list of files
  std::int64_t shards = 1;  // above 1: `output` names one file, "train.tfrecord", and
                            // "train-00000-of-00016.tfrecord" and so on are made
  // "shuffled": the same bytes for any number of threads and any cutting of the text into files at
  // document boundaries; memory does not grow with the corpus; a killed run goes on. "original":
  // byte for byte what google-research/bert's create_pretraining_data.py makes; text files only,
  // all in memory, one thread.
  std::string order = "shuffled";
  TokenizerFlags tokenizer;  // must agree with what is stored beside the vocabulary
  bool overwrite = false;    // of existing outputs
  bool description = true;   // write <first output>.json: options, counts, checksum of the
                            // vocabulary; and indexes of the records (docs/formats/record_index.md)
  bool log_examples = false;  // the first 20, as the original program does; order "original" only
  std::int64_t seed = 12345;
  std::int64_t threads = 0;                     // 0: as many as there are cores
  std::int64_t memory = std::int64_t{1} << 30;  // bytes, about
  std::string work;  // local folder for temporary files; empty: "<first output>.work", or in the
                     // system's folder for temporary files when the output is not local
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
