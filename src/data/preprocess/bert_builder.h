// Builds examples for BERT: masked sentence pairs.
#pragma once

#include "data/preprocess/bert_encoder.h"
#include "data/preprocess/example_builder.h"
#include "data/preprocess/sentence_pairs.h"
#include "data/preprocess/text_corpus.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt::data {

// Builds BERT examples. Its ExampleCounts hold: [0] masked tokens, [1] tokens of text, [2] sentence
// pairs, [3] pairs with a random next sentence, [4 + id] how often token `id` was a masking target.
class BertBuilder final : public ExampleBuilder {
 public:
  // The reader must outlive the builder. Throws UsageError if the options contradict each other or
  // the vocabulary.
  BertBuilder(const CorpusReader& reader, const PairOptions& pairs);

  std::string kind() const override { return "bert"; }
  OrderedJson settings() const override;
  std::uint64_t passes() const override { return static_cast<std::uint64_t>(pairs_.dupe_factor); }
  // Throws UsageError if every next sentence would be random.
  void check(const CorpusCounts& text) const override;
  std::uint64_t longest_sentence() const override {
    return pairs_.next_sentence ? static_cast<std::uint64_t>(pairs_.seq_length) - 3 : 0;
  }
  std::unique_ptr<ExampleDrawer> drawer(const DocumentGroup& group,
                                        ExampleCounts& counts) const override;
  std::unique_ptr<ExampleEncoder> encoder() const override;
  OrderedJson facts(const ExampleCounts& counts) const override;

  // Warns if most next sentences are random because many documents have only one sentence.
  void warn_of_random_next(const CorpusCounts& text, const ExampleCounts& counts) const;

  void count(const MaskedPair& pair, ExampleCounts& counts) const;

 private:
  const text::BertTokenizer& tokenizer_;
  const MaskVocabulary& vocabulary_;
  PairOptions pairs_;
};

}  // namespace smelt::data
