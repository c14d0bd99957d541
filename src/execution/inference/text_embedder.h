// Embeddings of texts: tokenization on all cores, then an Embedder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "execution/inference/embedder.h"
#include "text/tokenizers/text_pair.h"
#include "text/tokenizers/unknown_count.h"

namespace smelt::execution {

class TextEmbedder {
 public:
  TextEmbedder(std::shared_ptr<const pjrt::Client> client, EmbedJob job,
               text::BertTokenizer tokenizer, HostWeights weights);

  // Returns the embeddings of the texts, in their order. Texts longer than most_tokens are
  // truncated.
  EmbeddingRows embed(std::span<const std::string> texts);
  const EmbedJob& job() const { return embedder_.job(); }
  const text::BertTokenizer& tokenizer() const { return *tokenizer_; }
  std::uint64_t cut() const { return cut_; }  // texts truncated so far
  // Counts of tokens and unknown tokens so far.
  const text::UnknownCount& tokens() const { return tokens_; }

 private:
  std::unique_ptr<const text::BertTokenizer> tokenizer_;
  text::TextPairEncoder pairs_;
  Embedder embedder_;
  std::uint64_t cut_ = 0;
  text::UnknownCount tokens_;
};

}  // namespace smelt::execution
