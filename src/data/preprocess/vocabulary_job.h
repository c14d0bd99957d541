// Trains a vocabulary file from text files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/word_counts.h"
#include "text/tokenizers/wordpiece_trainer.h"

namespace smelt::data {

// wordpiece: merges pairs within words (text/tokenizers/wordpiece_trainer.h). unigram and bpe:
// SentencePiece (text/tokenizers/sentencepiece_trainer.h). byte_bpe: byte-level BPE
// (text/tokenizers/bpe_trainer.h). choose: "auto", the type that suits the text
// (data/preprocess/subword_vocabulary.h).
enum class VocabularyType { wordpiece, unigram, bpe, byte_bpe, choose };
// Throws UsageError for an unknown name.
VocabularyType parse_vocabulary_type(std::string_view word);

struct VocabularyJob {
  text::LinesOptions text;
  // Output file: vocab.txt for WordPiece; tokenizer.json for any type; x.model, a SentencePiece
  // model, for unigram and bpe; vocab.json (with merges.txt) for byte_bpe.
  std::string out;
  // unigram and bpe pieces are converted to WordPiece if `out` is a text file.
  VocabularyType type = VocabularyType::wordpiece;
  text::WordPieceTrainerOptions
      trainer;  // unigram and bpe use only the size and the reserved tokens
  // number of [unusedN] tokens after the special ones, for later extension
  std::int64_t unused = 0;
  double coverage = 0.9995;  // share of the text's characters; see WordPieceTrainerOptions
  // For x.model only: SentencePiece's normalization (nmt_nfkc, nfkc, nfc, identity or auto, see
  // choose_rule()), and whether unknown characters become pieces of their bytes.
  std::string normalization = "auto";
  bool byte_fallback = false;
  // x.model does not support lower_case and strip_accents. With a segment_command, which splits the
  // text, split_chinese is false.
  text::TokenizerOptions tokenizer;
  std::int64_t threads = 0;  // 0: one per core
  bool overwrite = false;    // replace an existing output
};

struct VocabularySummary {
  text::LinesSummary text;
  std::int64_t words = 0, distinct_words = 0, size = 0;
  std::int64_t unused = 0;  // number of [unusedN] tokens in `size`
  double seconds = 0;
};

// Trains the vocabulary on the words of the BasicTokenizer and stores its options with the
// vocabulary (text/tokenizers/tokenizer_config.h). The result does not depend on how the text is
// split into files. Throws UsageError if the corpus is missing or empty, settings do not fit the
// output type, or the output exists.
VocabularySummary train_vocabulary(const VocabularyJob& job);

}  // namespace smelt::data
