// How a model turns the hidden states of a text into its embedding.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/choice.h"

namespace smelt::io {

// How the hidden states of the tokens become one vector.
enum class Pooling {
  mean,  // the mean over all tokens, including [CLS] and [SEP]
  cls,   // the state of the first token
};
inline constexpr NamedValues<Pooling, 2> kPoolings{
    {{"mean", Pooling::mean}, {"cls", Pooling::cls}}};
constexpr const NamedValues<Pooling, 2>& words_of(Pooling) { return kPoolings; }

// How two embeddings are compared.
enum class Similarity { cosine, dot };
inline constexpr NamedValues<Similarity, 2> kSimilarities{
    {{"cosine", Similarity::cosine}, {"dot", Similarity::dot}}};
constexpr const NamedValues<Similarity, 2>& words_of(Similarity) { return kSimilarities; }

// The settings of an embedding model besides its encoder.
struct EmbeddingForm {
  Pooling pooling = Pooling::mean;
  bool normalize = false;  // divide each embedding by its Euclidean norm
  Similarity similarity = Similarity::cosine;
  std::int64_t seq_length = 0;  // tokens per text; longer texts are truncated; 0: unknown

  bool operator==(const EmbeddingForm&) const = default;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, EmbeddingForm>
void visit_fields(C& c, Visitor&& visit) {
  visit("pooling", c.pooling, "how token states become one vector: mean or cls");
  visit("normalize", c.normalize, "whether embeddings have norm 1");
  visit("similarity", c.similarity, "how embeddings are compared: cosine or dot");
  visit("seq_length", c.seq_length, "tokens per text");
}

}  // namespace smelt::io
