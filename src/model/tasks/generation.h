// Autoregressive decoding inside one program: greedy search, sampling and beam search, following
// transformers' generate().
//   B texts   A outputs per text, or beams   R = B A rows, grouped by text
//   T maximum output tokens   V words
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/choice.h"
#include "model/nn/scope.h"

namespace smelt::model {

// When the beam search of a text ends, once it has as many finished outputs as beams. yes: at once.
// no: when the best running beam, scored at its current length, is not better than the worst
// finished output. never: when the best running beam could not become better than this output at
// any length. The values correspond to transformers' early_stopping.
enum class EarlyStop { no, yes, never };
inline constexpr NamedValues<EarlyStop, 3> kEarlyStops{
    {{"no", EarlyStop::no}, {"yes", EarlyStop::yes}, {"never", EarlyStop::never}}};

// Settings of decoding.
struct Search {
  // maximum and minimum length of an output; the minimum does not count the end token
  std::int64_t most_tokens = 32, least_tokens = 0;
  std::int64_t beams = 1;     // 1: no beam search
  double length_penalty = 1;  // a beam's score is divided by its length to this power
  EarlyStop early_stop = EarlyStop::no;
  bool sample = false;       // sample words; otherwise take the best word
  double temperature = 1;    // divides the scores before sampling
  std::int64_t top_k = 0;    // sample among the k best words; 0: among all
  double top_p = 1;          // sample among the best words with this total probability
  std::int64_t answers = 1;  // outputs per text: samples, or the best beams
  bool operator==(const Search&) const = default;
};

// Throws UsageError if the settings contradict each other or the vocabulary size.
void check_search(const Search& search, std::int64_t words);

// Returns the number of rows per text during decoding.
std::int64_t rows_of_text(const Search& search);

// A model that scores the next token of R rows.
struct NextWords {
  std::int64_t words = 0;  // number of usable ids, at most V
  std::int64_t start = 0, end = 1;
  std::vector<compiler::Tensor> cache;  // the empty KV cache, rows first
  // Called in a region: returns the scores f32 [R,V] of the token after `tokens` s32 [R] at
  // `position` (s32 scalar), and updates the cache.
  std::function<compiler::Tensor(compiler::Graph& graph, compiler::Tensor tokens,
                                 compiler::Tensor position, std::vector<compiler::Tensor>& cache)>
      scores;
};

// Generated outputs.
struct Answers {
  compiler::Tensor ids;  // s32 [B,A,T]: including the end token; 0 after it
  compiler::Tensor
      scores;  // f32 [B,A]: sum of log p of the tokens; of beams, divided by length^length_penalty
};

// Generates outputs. `live` f32 [B] is 0 for padding rows. Samples are drawn from the scope's
// random source, whose step must be set; they depend only on the row number and the number of the
// output.
Answers answers(const Scope& s, const Search& search, const NextWords& next, compiler::Tensor live);

}  // namespace smelt::model
