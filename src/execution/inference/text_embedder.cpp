#include "execution/inference/text_embedder.h"

#include <algorithm>

#include "base/parallel.h"

namespace smelt::execution {

TextEmbedder::TextEmbedder(std::shared_ptr<const pjrt::Client> client, EmbedJob job,
                           text::BertTokenizer tokenizer, HostWeights weights)
    : tokenizer_(std::make_unique<const text::BertTokenizer>(std::move(tokenizer))),
      pairs_(*tokenizer_, job.most_tokens),
      embedder_(std::move(client), std::move(job), std::move(weights)) {}

EmbeddingRows TextEmbedder::embed(std::span<const std::string> texts) {
  constexpr std::size_t kPart = 64;  // texts that a thread tokenizes at a time
  std::vector<text::TextPairIds> encoded(texts.size());
  run_each((texts.size() + kPart - 1) / kPart, available_threads(), [&](std::size_t part) {
    const std::size_t begin = part * kPart;
    for (std::size_t i = begin; i < std::min(begin + kPart, texts.size()); ++i)
      encoded[i] = pairs_.encode(texts[i], "");
  });
  std::vector<std::vector<std::int32_t>> ids;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    cut_ += encoded[i].cut > 0 ? 1 : 0;
    tokens_.add(texts[i], encoded[i].ids, *tokenizer_);
    ids.push_back(std::move(encoded[i].ids));
  }
  return embedder_.embed(ids);
}

}  // namespace smelt::execution
