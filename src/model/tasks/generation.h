// Answers of a model that says one token after another, in one program: greedy, by samples, by
// beams, as transformers' generate() has them.
//   B texts   A answers to each, or beams   R = B A rows, those of one text together   T tokens of
//   an answer at most   V words
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/nn/scope.h"

namespace smelt {

// When beams end whose finished answers are as many as beams: once no running one can become
// better by its score so far (no), at once (yes), once none can however long it becomes (never).
enum class EarlyStop { no, yes, never };

struct Search {
  std::int64_t most_tokens = 32, least_tokens = 0;  // of an answer; its end is none of the least
  std::int64_t beams = 1;                           // 1: none
  double length_penalty = 1;  // a beam's score is over its length to the power of this
  EarlyStop early_stop = EarlyStop::no;
  bool sample = false;       // else the best word
  double temperature = 1;    // scores are over it
  std::int64_t top_k = 0;    // of samples: among so many best words; 0: among all
  double top_p = 1;          // among the best words that have this probability together
  std::int64_t answers = 1;  // to a text: samples, or the best beams
};

// UsageError for settings that do not fit each other or the model's words.
void check_search(const Search& search, std::int64_t words);

// Rows that a text has while answers are looked for.
std::int64_t rows_of_text(const Search& search);

// A model that can be asked for the next token of R rows.
struct NextWords {
  std::int64_t words = 0;  // ids from here on are never said; at most V
  std::int64_t start = 0, end = 1;
  std::vector<Tensor> memory;  // of nothing said, rows first
  // In a region: f32 [R,V], scores of what follows tokens s32 [R] at a position (s32 scalar);
  // `memory` is then that behind them.
  std::function<Tensor(Graph& graph, Tensor tokens, Tensor position, std::vector<Tensor>& memory)>
      scores;
};

struct Answers {
  Tensor ids;     // s32 [B,A,T]: with the end; 0 behind it
  Tensor scores;  // f32 [B,A]: the sum of log p of the tokens; of beams over their length's power
};

// `live` f32 [B] is 0 of rows that are no texts. Samples are drawn by the scope's source, whose
// step must be given: what a row draws depends on its number and its answer's alone.
Answers answers(const Scope& s, const Search& search, const NextWords& next, Tensor live);

}  // namespace smelt
