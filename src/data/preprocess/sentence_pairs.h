// Builds masked sentence pairs for BERT (Devlin et al. 2019, sections 3.1 and A.1), with the rules
// and order of random draws of google-research/bert's create_pretraining_data.py.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/stream_random.h"
#include "data/preprocess/token_corpus.h"

namespace smelt::data {

struct PairOptions {
  std::int64_t seq_length = 128;  // at least 5: [CLS] a [SEP] b [SEP]
  std::int64_t max_predictions = 20;
  std::int64_t dupe_factor = 10;  // passes over the corpus, each with different masks
  double masked_lm_prob = 0.15;
  // Share of the documents (without next_sentence: of the examples) whose length is drawn at random
  // between 2 tokens and the full length.
  double short_seq_prob = 0.1;
  bool whole_word_mask = false;
  // If false, an example is a run of one document's tokens, [CLS] a [SEP], and all tokens of a
  // document are used.
  bool next_sentence = true;
};

// Vocabulary data needed to draw masks.
struct MaskVocabulary {
  std::int32_t cls = 0, sep = 0, mask = 0;
  std::vector<std::int32_t> words;  // id of each distinct word, in vocabulary order
  std::vector<bool> continues;      // by id: whether the piece continues a word
};

struct Mask {
  std::uint32_t position = 0;    // index in [CLS] A [SEP] B [SEP]
  std::int32_t replacement = 0;  // token that replaces the original one in the model's input
};

// The tokens [CLS] A [SEP] B [SEP] before masking, or [CLS] A [SEP] if B is empty, and the masks
// sorted by position.
struct MaskedPair {
  std::span<const std::int32_t> a, b;
  bool random_next = false;  // whether B is a random text instead of the one after A
  std::span<const Mask> masks;

  std::size_t tokens() const { return a.size() + b.size() + (b.empty() ? 2 : 3); }
  // Returns the original token at a masked position.
  std::int32_t answer(const Mask& mask) const {
    return mask.position <= a.size() ? a[mask.position - 1] : b[mask.position - a.size() - 2];
  }
};

// A MaskedPair stored as ranges: of a corpus for the tokens, and of a list for the masks.
struct SentencePair {
  TokenRange a, b;
  bool random_next = false;
  std::uint64_t first_mask = 0;
  std::uint32_t mask_count = 0;
};

// A list of drawn pairs, whose tokens stay in the corpus. Needs about 12 bytes per masked token and
// 56 per pair.
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

// Draws pairs. Random is PythonRandom or StreamRandom.
template <class Random>
class PairDrawer {
 public:
  // All arguments must outlive the drawer.
  PairDrawer(const TokenCorpus& corpus, const MaskVocabulary& vocabulary,
             const PairOptions& options);

  // Appends the pairs of one pass over a document.
  void draw(std::size_t document, Random& random, PairList& out);

 private:
  // The pieces candidates_[begin, end) form a word and are masked together.
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
  // State of the current document and pair; the lists are reused to avoid allocations.
  Random* random_ = nullptr;
  PairList* out_ = nullptr;
  std::vector<std::int32_t> tokens_;
  std::vector<std::uint32_t> positions_;
  std::vector<Candidate> candidates_;
};

// Draws the original program's pairs in its order: shuffles the documents of the corpus, draws, and
// shuffles the pairs.
PairList draw_original_pairs(TokenCorpus& corpus, const MaskVocabulary& vocabulary,
                             const PairOptions& options, PythonRandom& random);

}  // namespace smelt::data
