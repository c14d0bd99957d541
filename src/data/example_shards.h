// Sentence pairs as tf.Examples in TFRecord files (docs/formats/tfrecord.md), to each file in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/sentence_pairs.h"
#include "format/example.h"
#include "store/file.h"

namespace smelt {

class ExampleShards {
 public:
  ExampleShards(const std::vector<std::string>& paths, const PairOptions& options);

  void write(const SentencePairs& pairs, const SentencePair& pair);
  // The files appear; without it nothing remains.
  void commit();

 private:
  void fill(const SentencePairs& pairs, const SentencePair& pair);

  PairOptions options_;
  std::vector<OutputFile> files_;
  std::uint64_t written_ = 0;
  // Of the example at hand; kept for their memory.
  ExampleWriter example_;
  std::string record_;
  std::vector<std::int32_t> input_ids_, input_mask_, segment_ids_, positions_, labels_;
  std::vector<float> weights_;
};

}  // namespace smelt
