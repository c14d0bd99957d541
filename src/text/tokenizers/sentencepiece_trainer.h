// Trains unigram (Kudo 2018) and BPE (Sennrich et al. 2016) models by the SentencePiece library.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/choice.h"

namespace smelt {

struct SentencePieceOptions {
  std::string type = "unigram";  // or "bpe"
  std::int64_t size = 32000;     // pieces, those of `kind` included
  double coverage = 0.9995;      // share of the text's characters that the alphabet must cover
  // A model of its own has T5's special pieces, <pad> 0, </s> 1, <unk> 2, and normalizes text by
  // `rule`; one whose pieces go into a WordPiece vocabulary has <unk> 0 alone and leaves text as it
  // is.
  enum class Kind { own_model, for_wordpiece } kind = Kind::own_model;
  // How a model of its own normalizes text.
  enum class Rule { nmt_nfkc, nfkc, nfc, identity } rule = Rule::nmt_nfkc;
  bool byte_fallback = false;  // characters without a piece become pieces of their bytes
  // Of a model of its own: control pieces, which no text gives. With <unk> among them they are all
  // that there are, their ids the places in the list: "<pad>", "<unk>", "<s>" and "</s>" are what
  // SentencePiece takes them for. Else they come after T5's three.
  std::vector<std::string> special = {};
};

// By the names "nmt_nfkc", "nfkc", "nfc" and "identity".
inline constexpr NamedValues<SentencePieceOptions::Rule, 4> kSentencePieceRules{
    {{"nmt_nfkc", SentencePieceOptions::Rule::nmt_nfkc},
     {"nfkc", SentencePieceOptions::Rule::nfkc},
     {"nfc", SentencePieceOptions::Rule::nfc},
     {"identity", SentencePieceOptions::Rule::identity}}};

// Sets its argument to the next text; false at the end.
using NextText = std::function<bool(std::string&)>;

// The serialized model. The texts are all in memory meanwhile; those of more than 4 KiB are cut at
// white space. UsageError for too little text, or a
// size that the alphabet does not fit in.
std::string train_sentencepiece(const NextText& next, const SentencePieceOptions& options);

// The pieces of a model with their scores, in its order, without its special pieces.
std::vector<std::pair<std::string, float>> scored_pieces(const std::string& model);

// "▁x" -> "x", others "##x", without special pieces: first every character of the model, as a
// word's beginning and as its continuation, so that no word of known characters is unknown; then
// the model's longer pieces, the best first. At most `limit`; UsageError when it does not hold the
// characters.
std::vector<std::string> as_wordpieces(const std::string& model, std::int64_t limit);

}  // namespace smelt
