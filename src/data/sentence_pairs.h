// Masked sentence pairs for BERT (Devlin et al. 2019, sections 3.1 and A.1), drawn in exactly the order of
// google-research/bert's create_pretraining_data.py: a seed gives that program's examples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/token_corpus.h"

namespace smelt {

struct PairOptions {
  std::int64_t seq_length = 128;     // at least 5: [CLS] a [SEP] b [SEP]
  std::int64_t max_predictions = 20;
  std::int64_t dupe_factor = 10;     // passes over the corpus, each with other masks
  double masked_lm_prob = 0.15;
  double short_seq_prob = 0.1;
  bool whole_word_mask = false;
};

// What the drawing of masks needs to know of a vocabulary.
struct MaskVocabulary {
  std::int32_t cls = 0, sep = 0, mask = 0;
  std::vector<std::int32_t> words;  // the id of each distinct word, in the vocabulary's order
  std::vector<bool> continues;      // by id: the word begins with "##"
};

struct Mask {
  std::uint32_t position = 0;     // in [CLS] A [SEP] B [SEP]
  std::int32_t replacement = 0;   // the token that the model sees there
};

// [CLS] A [SEP] B [SEP] before masking, and the masks by ascending position.
struct SentencePair {
  TokenRange a, b;
  bool random_next = false;  // B is not what followed A
  std::uint64_t first_mask = 0;
  std::uint32_t mask_count = 0;
};

// About 12 bytes per masked token and 56 per pair; the tokens stay in the corpus.
class SentencePairs {
 public:
  // Shuffles the corpus' documents, draws, and shuffles the pairs. The corpus must outlive the result.
  SentencePairs(TokenCorpus& corpus, const MaskVocabulary& vocabulary, const PairOptions& options,
                PythonRandom& rng);

  const std::vector<SentencePair>& pairs() const { return pairs_; }
  std::span<const Mask> masks(const SentencePair& pair) const {
    return std::span(masks_).subspan(pair.first_mask, pair.mask_count);
  }
  // [CLS] A [SEP] B [SEP], unmasked.
  void tokens(const SentencePair& pair, std::vector<std::int32_t>& out) const;

 private:
  // Positions candidates_[begin, end) are masked together or not at all.
  struct Candidate {
    std::uint32_t begin = 0, end = 0;
  };
  void draw_document(std::size_t document);
  SentencePair draw_pair(std::size_t document, std::uint64_t first, std::uint64_t last,
                         std::uint64_t target_length, std::uint64_t& used);
  TokenRange draw_other(std::size_t document, std::int64_t wanted);
  void truncate(TokenRange& a, TokenRange& b);
  void draw_masks(SentencePair& pair);
  void list_candidates();
  std::int32_t draw_replacement(std::int32_t token);

  const TokenCorpus& corpus_;
  const MaskVocabulary& vocabulary_;
  PairOptions options_;
  PythonRandom& rng_;
  std::vector<SentencePair> pairs_;
  std::vector<Mask> masks_;
  // Of the pair at hand; kept for their memory.
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint32_t> positions_;
  std::vector<Candidate> candidates_;
};

}  // namespace smelt
