// Masked sentence pairs for BERT (Devlin et al. 2019, sections 3.1 and A.1), by the rules and in
// the order of draws of google-research/bert's create_pretraining_data.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/stream_random.h"
#include "data/preprocess/token_corpus.h"

namespace smelt {

struct PairOptions {
  std::int64_t seq_length = 128;  // at least 5: [CLS] a [SEP] b [SEP]
  std::int64_t max_predictions = 20;
  std::int64_t dupe_factor = 10;  // passes over the corpus, each with other masks
  double masked_lm_prob = 0.15;
  // Fraction of the documents (without next_sentence: of the examples) whose length is drawn at
  // random, from 2 tokens to the full length.
  double short_seq_prob = 0.1;
  bool whole_word_mask = false;
  // Without it an example is one run of a document's tokens, [CLS] a [SEP], and no token of a
  // document is left out.
  bool next_sentence = true;
};

// What the drawing of masks needs to know of a vocabulary.
struct MaskVocabulary {
  std::int32_t cls = 0, sep = 0, mask = 0;
  std::vector<std::int32_t> words;  // the id of each distinct word, in the vocabulary's order
  std::vector<bool> continues;      // by id: the piece goes on with a word
};

struct Mask {
  std::uint32_t position = 0;    // in [CLS] A [SEP] B [SEP]
  std::int32_t replacement = 0;  // the token that the model sees there
};

// [CLS] A [SEP] B [SEP] before masking, and the masks by ascending position; an empty B has no
// [SEP].
struct MaskedPair {
  std::span<const std::int32_t> a, b;
  bool random_next = false;  // B is not what followed A
  std::span<const Mask> masks;

  std::size_t tokens() const { return a.size() + b.size() + (b.empty() ? 2 : 3); }
  // The token that is masked.
  std::int32_t answer(const Mask& mask) const {
    return mask.position <= a.size() ? a[mask.position - 1] : b[mask.position - a.size() - 2];
  }
};

// A MaskedPair whose parts stand elsewhere: tokens in a corpus, masks in a list.
struct SentencePair {
  TokenRange a, b;
  bool random_next = false;
  std::uint64_t first_mask = 0;
  std::uint32_t mask_count = 0;
};

// About 12 bytes per masked token and 56 per pair; the tokens stay in the corpus.
struct PairList {
  std::vector<SentencePair> pairs;
  std::vector<Mask> masks;

  void clear() {
    pairs.clear();
    masks.clear();
  }
  MaskedPair view(const TokenCorpus& corpus, const SentencePair& pair) const {
    return {corpus.ids(pair.a), corpus.ids(pair.b), pair.random_next,
            std::span(masks).subspan(pair.first_mask, pair.mask_count)};
  }
};

// Random is PythonRandom or StreamRandom.
template <class Random>
class PairDrawer {
 public:
  // All must outlive the drawer.
  PairDrawer(const TokenCorpus& corpus, const MaskVocabulary& vocabulary,
             const PairOptions& options);

  // Appends one pass over one document.
  void draw(std::size_t document, Random& random, PairList& out);

 private:
  // Positions candidates_[begin, end) are masked together or not at all.
  struct Candidate {
    std::uint32_t begin = 0, end = 0;
  };
  void draw_runs(std::size_t document);
  std::uint64_t draw_length(std::int64_t longest);
  SentencePair draw_pair(std::size_t document, std::uint64_t first, std::uint64_t last,
                         std::uint64_t target_length, std::uint64_t& used);
  TokenRange draw_other(std::size_t document, std::int64_t wanted);
  void truncate(TokenRange& a, TokenRange& b);
  void finish(SentencePair pair);
  void list_tokens(const SentencePair& pair);
  void list_candidates();
  std::int32_t draw_replacement(std::int32_t token);

  const TokenCorpus& corpus_;
  const MaskVocabulary& vocabulary_;
  const PairOptions& options_;
  // Of the document and the pair at hand; the lists are kept for their memory.
  Random* random_ = nullptr;
  PairList* out_ = nullptr;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint32_t> positions_;
  std::vector<Candidate> candidates_;
};

// The original program's pairs, in its order: shuffles the corpus' documents, draws, and shuffles
// the pairs.
PairList draw_original_pairs(TokenCorpus& corpus, const MaskVocabulary& vocabulary,
                             const PairOptions& options, PythonRandom& random);

}  // namespace smelt
