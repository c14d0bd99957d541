// From text files to a vocabulary file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizers/tokenizer_options.h"
#include "text/tokenizers/word_counts.h"
#include "text/tokenizers/wordpiece_trainer.h"

namespace smelt {

// wordpiece: merges of pairs within words (text/tokenizers/wordpiece_trainer.h); unigram and bpe:
// by SentencePiece (text/tokenizers/sentencepiece_trainer.h); byte_bpe: byte-level BPE
// (text/tokenizers/bpe_trainer.h); choose: "auto", the one that suits the text
// (data/preprocess/subword_vocabulary.h).
enum class VocabularyType { wordpiece, unigram, bpe, byte_bpe, choose };
// UsageError for an unknown word.
VocabularyType parse_vocabulary_type(std::string_view word);

struct VocabularyJob {
  LinesOptions text;
  // vocab.txt of word pieces, or tokenizer.json with all in one, of any type; x.model, a
  // SentencePiece model, for types unigram and bpe; vocab.json and merges.txt for byte_bpe.
  std::string out;
  // Pieces of types unigram and bpe become WordPieces if `out` is a text file.
  VocabularyType type = VocabularyType::wordpiece;
  WordPieceTrainerOptions trainer;  // types unigram and bpe use the size and the reserved tokens
  std::int64_t unused = 0;          // [unused0], … after the special tokens, for words to come
  double coverage = 0.9995;         // of the text's characters; see WordPieceTrainerOptions
  // For x.model only: what SentencePiece does to text first, nmt_nfkc, nfkc, nfc, identity or auto
  // (choose_rule()), and whether unknown characters become their bytes.
  std::string normalization = "auto";
  bool byte_fallback = false;
  // For x.model without lower_case and strip_accents. With a segment_command, which splits the
  // text, split_chinese is false.
  TokenizerOptions tokenizer;
  std::int64_t threads = 0;  // 0: as many as there are cores
  bool overwrite = false;    // of an existing output
};

struct VocabularySummary {
  LinesSummary text;
  std::int64_t words = 0, distinct_words = 0, size = 0;
  std::int64_t unused = 0;  // of size, [unusedN]
  double seconds = 0;
};

// Words are the BasicTokenizer's, whose options are stored beside the vocabulary
// (text/tokenizers/tokenizer_config.h). The same text, however it is cut into files, gives the same
// bytes. UsageError for a missing or empty corpus, settings that the output cannot have, or an
// output that exists.
VocabularySummary train_vocabulary(const VocabularyJob& job);

}  // namespace smelt
