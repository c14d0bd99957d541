#include "model/tasks/t5_answers.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::Graph;
using compiler::reduce_max;
using compiler::reshape;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::zeros_like;
namespace {

constexpr std::uint64_t kSamples = 0x7435;  // combined with the user's seed

// Repeats each row of x `times` times, adjacently.
Tensor repeated(Tensor x, std::int64_t times) {
  if (times == 1) return x;
  Dims one = x.dims(), many = x.dims(), flat = x.dims();
  one.insert(one.begin() + 1, 1);
  many.insert(many.begin() + 1, times);
  flat[0] *= times;
  return reshape(broadcast_to(reshape(x, one), many), flat);
}

// Returns a scope with the random source for samples. Row i of a batch is output i % A of text
// first + i / A.
Scope with_sampling(const Scope& root, const Search& search, const Inputs& in) {
  const auto of_first_row = [&](const char* name) {
    return reshape(slice_axis(in[name], 0, 0, 1), {});
  };
  const Tensor first = of_first_row("row");
  RandomSource source{.seed = kSamples, .step = zeros_like(first)};
  source.stream = of_first_row("seed");
  source.first_row = first * full_like(first, static_cast<double>(search.answers));
  source.training = false;
  return root.within(root.graph(), source);
}

}  // namespace

Prediction t5_answers(const T5Config& c, std::int64_t S, const Search& search, std::int64_t words) {
  words = std::min(words, c.vocab_size);
  check_search(search, words);
  Prediction out;
  out.features = {
      {.name = "inputs", .row = {S}, .limit = c.vocab_size, .limit_name = "vocab_size"}};
  if (search.sample)
    for (const char* name : {"row", "seed"}) out.features.push_back({.name = name, .row = {}});
  out.outputs = [c, search, words](const Scope& root, const Inputs& in) {
    const Tensor inputs = in["inputs"];
    const Tensor mask = convert(compare(inputs, zeros_like(inputs), Compare::ne), DType::s32);
    const Tensor states = t5_encoder(root, c, t5_embed(root, c, inputs), mask);
    const std::int64_t rows = rows_of_text(search);
    const T5Decoding decoding(root, c, {repeated(states, rows), repeated(mask, rows)},
                              search.most_tokens);
    (void)t5_word_head(root, c, reshape(slice_axis(states, 1, 0, 1), {inputs.dim(0), c.d_model}));
    const Scope again = root.within(root.graph(), root.random_source());
    NextWords next{.words = words, .cache = decoding.empty_cache(), .scores = {}};
    next.scores = [&](Graph& graph, Tensor tokens, Tensor position, std::vector<Tensor>& cache) {
      const Tensor rows = decoding.next(graph, tokens, position, cache);
      return lm_logits(t5_word_head(again.within(graph, again.random_source()), c, rows));
    };
    const Tensor live = convert(reduce_max(mask, {1}), DType::f32);
    const Answers found =
        answers(search.sample ? with_sampling(root, search, in) : again, search, next, live);
    return std::vector{found.ids, found.scores};
  };
  return out;
}

}  // namespace smelt::model
