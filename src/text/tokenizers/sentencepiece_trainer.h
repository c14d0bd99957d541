// Trains unigram (Kudo 2018) and BPE (Sennrich et al. 2016) models with the SentencePiece library.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/choice.h"

namespace smelt::text {

struct SentencePieceOptions {
  std::string type = "unigram";  // "unigram" or "bpe"
  std::int64_t size = 32000;     // number of pieces, special ones included
  double coverage = 0.9995;      // share of the text's characters that the alphabet must cover
  // own_model: a complete model, with T5's special pieces <pad> 0, </s> 1 and <unk> 2, that
  // normalizes text by `rule`. for_wordpiece: a model whose pieces become a WordPiece vocabulary;
  // its only special piece is <unk> 0, and it does not normalize text.
  enum class Kind { own_model, for_wordpiece } kind = Kind::own_model;
  // Normalization of an own_model.
  enum class Rule { nmt_nfkc, nfkc, nfc, identity } rule = Rule::nmt_nfkc;
  bool byte_fallback = false;  // represent characters without a piece by pieces of their bytes
  // Additional control pieces of an own_model, which text never produces. They follow T5's
  // three special pieces. If the list contains "<unk>", it replaces T5's pieces: each id is the
  // position in the list, and "<pad>", "<unk>", "<s>" and "</s>" get SentencePiece's roles.
  std::vector<std::string> special = {};
};

// Names: "nmt_nfkc", "nfkc", "nfc" and "identity".
inline constexpr NamedValues<SentencePieceOptions::Rule, 4> kSentencePieceRules{
    {{"nmt_nfkc", SentencePieceOptions::Rule::nmt_nfkc},
     {"nfkc", SentencePieceOptions::Rule::nfkc},
     {"nfc", SentencePieceOptions::Rule::nfc},
     {"identity", SentencePieceOptions::Rule::identity}}};

// Sets its argument to the next text; returns false at the end.
using NextText = std::function<bool(std::string&)>;

// Returns the serialized model. Holds all texts in memory; texts longer than 4 KiB are split at
// white space. Throws UsageError if there is too little text or the size is too small for the
// alphabet.
std::string train_sentencepiece(const NextText& next, const SentencePieceOptions& options);

// Returns the pieces of a model with their scores, in order, without its special pieces.
std::vector<std::pair<std::string, float>> scored_pieces(const std::string& model);

// Converts the pieces to WordPiece form: "▁x" becomes "x", others become "##x"; special pieces are
// dropped. Returns first each character of the model, both as the beginning and as the continuation
// of a word, so that words of known characters are never unknown, then the longer pieces, best
// first. Returns at most `limit` pieces; throws UsageError if that has no room for the characters.
std::vector<std::string> as_wordpieces(const std::string& model, std::int64_t limit);

}  // namespace smelt::text
