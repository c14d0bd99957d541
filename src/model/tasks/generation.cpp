#include "model/tasks/generation.h"

#include <cmath>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "model/nn/layers.h"
#include "model/nn/random.h"

namespace smelt::model {

using compiler::argmax;
using compiler::bitwise_and;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::dynamic_slice;
using compiler::dynamic_update_slice;
using compiler::full_like;
using compiler::gather_items;
using compiler::Graph;
using compiler::iota;
using compiler::KeepDims;
using compiler::log;
using compiler::maximum;
using compiler::ones_like;
using compiler::power;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::remainder;
using compiler::reshape;
using compiler::select;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::top_k;
using compiler::while_loop;
using compiler::zeros_like;
namespace {

constexpr double kNever = -1e9;

Tensor s32_constant(Graph& graph, std::int64_t value) {
  return constant(graph, static_cast<double>(value), DType::s32);
}

Tensor flags(Tensor condition) { return convert(condition, DType::f32); }

// Returns x where the flag (f32) is 1, and y elsewhere.
Tensor where(Tensor flag, Tensor x, Tensor y) {
  return select(compare(flag, zeros_like(flag), Compare::gt), x, y);
}

Tensor log_softmax(Tensor scores) {
  const auto [exponentials, sums] = softmax_exponentials(scores);
  const Tensor top = reduce_max(scores, {-1}, KeepDims::yes);
  return scores - top - log(sums);
}

// Lowers the scores of words that must not be generated: ids unknown to the tokenizer, and the end
// token while the output is too short.
Tensor mask_forbidden(const Search& search, const NextWords& next, Tensor scores, Tensor position) {
  Graph& graph = scores.graph();
  const Tensor id = iota(graph, {DType::s32, {1, scores.dim(1)}}, 1);
  Tensor forbidden =
      flags(compare(id, full_like(id, static_cast<double>(next.words)), Compare::ge));
  if (search.least_tokens > 0) {
    const Tensor early =
        flags(compare(position, s32_constant(graph, search.least_tokens), Compare::lt));
    const Tensor end =
        flags(compare(id, full_like(id, static_cast<double>(next.end)), Compare::eq));
    forbidden = maximum(forbidden, end * early);
  }
  return scores + forbidden * kNever;
}

// Finds by bisection the largest bound such that probabilities at or above it sum to at least p.
Tensor nucleus_bound(Tensor probabilities, double p) {
  const Tensor top = reduce_max(probabilities, {1}, KeepDims::yes);
  constexpr int kIterations = 40;
  const auto found = while_loop(
      {s32_constant(top.graph(), 0), zeros_like(top), top * (1 + 0x1p-20)},
      [&](Graph& graph, std::span<const Tensor> in) -> std::vector<Tensor> {
        return {compare(in[0], s32_constant(graph, kIterations), Compare::lt)};
      },
      [&](Graph& graph, std::span<const Tensor> in) -> std::vector<Tensor> {
        const Tensor middle = (in[1] + in[2]) * 0.5, all = graph.capture(probabilities);
        const Tensor kept = flags(compare(all, broadcast_to(middle, all.dims()), Compare::ge));
        const Tensor share = reduce_sum(all * kept, {1}, KeepDims::yes);
        const Tensor enough = flags(compare(share, full_like(share, p), Compare::ge));
        return {in[0] + s32_constant(graph, 1), where(enough, middle, in[1]),
                where(enough, in[2], middle)};
      });
  return found[1];
}

// Returns the scores after temperature, top-k and top-p. Excluded words are never sampled.
Tensor sampling_scores(const Search& search, Tensor scores) {
  Tensor out = scores * (1 / search.temperature);
  const auto exclude_below = [&](Tensor by, Tensor bound) {
    const Tensor below = flags(compare(by, broadcast_to(bound, by.dims()), Compare::lt));
    out = out + below * kNever;
  };
  if (search.top_k > 0 && search.top_k < scores.dim(1)) {
    const Tensor best = top_k(out, search.top_k)[0];
    exclude_below(out, slice_axis(best, 1, search.top_k - 1, search.top_k));
  }
  if (search.top_p < 1) {
    const Tensor p = softmax(out);
    exclude_below(p, nucleus_bound(p, search.top_p));
  }
  return out;
}

// Samples a word by its probability with the Gumbel-max trick.
Tensor sample_word(const Scope& s, Graph& graph, const Search& search, Tensor scores,
                   Tensor position) {
  RandomSource source = *s.random_source();
  source.step = position;
  const Scope here = s.within(graph, source) / "sampling";
  const Tensor u = maximum(uniform(here, scores.dims()), full_like(scores, 0x1p-25));
  return argmax(sampling_scores(search, scores) - log(-log(u)), 1);
}

Tensor with_token(Tensor ids, Tensor token, Tensor position) {
  Dims one = token.dims();
  one.push_back(1);
  std::vector<Tensor> at(one.size() - 1, zeros_like(position));
  at.push_back(position);
  return dynamic_update_slice(ids, reshape(token, one), at);
}

// Returns the first word of each row whose score is `top`. On a CPU, two plain passes are several
// times faster than argmax(), which also carries an index.
Tensor first_of(Tensor scores, Tensor top) {
  const std::int64_t R = scores.dim(0), V = scores.dim(1);
  const Tensor rest = full_like(scores, static_cast<double>(V)) -
                      iota(scores.graph(), {DType::f32, scores.dims()}, 1);
  const Tensor best =
      compare(scores, broadcast_to(reshape(top, {R, 1}), scores.dims()), Compare::ge);
  const Tensor left = reduce_max(select(best, rest, ones_like(scores)), {1});
  return convert(full_like(left, static_cast<double>(V)) - left, DType::s32);
}

Tensor score_of(Tensor scores, Tensor word) {
  const Tensor at_word =
      compare(iota(scores.graph(), {DType::s32, scores.dims()}, 1),
              broadcast_to(reshape(word, {word.dim(0), 1}), scores.dims()), Compare::eq);
  return reduce_sum(select(at_word, scores, zeros_like(scores)), {1});
}

// ---- greedy search and sampling ----

Answers generate_tokens(const Scope& s, const Search& search, const NextWords& next, Tensor live) {
  Graph& graph = s.graph();
  const std::int64_t B = live.dim(0), A = search.answers, R = B * A, T = search.most_tokens;
  const Tensor of_rows = reshape(broadcast_to(reshape(live, {B, 1}), {B, A}), {R});
  // Carried: position, ids, last token, whether a row has ended, its score, the KV cache.
  std::vector<Tensor> begin{s32_constant(graph, 0), constant(graph, 0, DType::s32, {R, T}),
                            constant(graph, static_cast<double>(next.start), DType::s32, {R}),
                            1.0 - of_rows, zeros_like(of_rows)};
  constexpr std::size_t kOwn = 5;
  begin.insert(begin.end(), next.cache.begin(), next.cache.end());
  const auto done = while_loop(
      begin,
      [&](Graph& body, std::span<const Tensor> in) -> std::vector<Tensor> {
        const Tensor open = reduce_sum(1.0 - in[3], {0});
        const Tensor more = compare(in[0], s32_constant(body, T), Compare::lt);
        return {bitwise_and(more, compare(open, zeros_like(open), Compare::gt))};
      },
      [&](Graph& body, std::span<const Tensor> in) -> std::vector<Tensor> {
        const Tensor position = in[0], ended = in[3];
        std::vector<Tensor> cache(in.begin() + kOwn, in.end());
        const Tensor all = next.scores(body, in[2], position, cache);
        const Tensor scores = mask_forbidden(search, next, all, position);
        const Tensor top = reduce_max(scores, {1});
        const Tensor word =
            search.sample ? sample_word(s, body, search, scores, position) : first_of(scores, top);
        const Tensor token = where(ended, zeros_like(word), word);
        const Tensor log_probability =
            (search.sample ? score_of(scores, word) : top) - log_sum_exp(all);
        const Tensor at_end =
            flags(compare(token, full_like(token, static_cast<double>(next.end)), Compare::eq));
        std::vector<Tensor> out{position + s32_constant(body, 1),
                                with_token(in[1], token, position), token, maximum(ended, at_end),
                                in[4] + log_probability * (1.0 - ended)};
        out.insert(out.end(), cache.begin(), cache.end());
        return out;
      });
  return {reshape(done[1], {B, A, T}), reshape(done[4], {B, A})};
}

// ---- beam search ----

// The state of a beam search.
struct Beams {
  Tensor position;
  Tensor ids, scores;                        // running beams: [B,K,T], [B,K]
  Tensor ended_ids, ended_scores, is_ended;  // finished beams: [B,K,T], [B,K], flags [B,K]
  Tensor open;  // flags [B,1]: better outputs are still possible; once 0 it stays 0
  std::vector<Tensor> cache;

  static constexpr std::size_t kOwn = 7;
  static Beams of(std::span<const Tensor> in) {
    return {in[0], in[1], in[2], in[3], in[4], in[5], in[6], {in.begin() + kOwn, in.end()}};
  }
  std::vector<Tensor> list() const {
    std::vector<Tensor> out{position, ids, scores, ended_ids, ended_scores, is_ended, open};
    out.insert(out.end(), cache.begin(), cache.end());
    return out;
  }
};

class BeamSearch {
 public:
  BeamSearch(const Search& search, const NextWords& next, Tensor live)
      : search_(search),
        next_(next),
        live_(live),
        B_(live.dim(0)),
        K_(search.beams),
        T_(search.most_tokens) {}

  Answers run(Graph& graph) const {
    const Beams done = Beams::of(while_loop(
        begin(graph).list(),
        [&](Graph& body, std::span<const Tensor> in) {
          return std::vector{is_running(body, Beams::of(in))};
        },
        [&](Graph& body, std::span<const Tensor> in) { return step(body, Beams::of(in)).list(); }));
    return {slice_axis(done.ended_ids, 1, 0, search_.answers),
            slice_axis(done.ended_scores, 1, 0, search_.answers)};
  }

 private:
  Beams begin(Graph& graph) const {
    std::vector<double> first(static_cast<std::size_t>(K_), kNever);
    first[0] = 0;
    const Dims beams{B_, K_}, answers{B_, K_, T_};
    const Tensor none = constant(graph, 0, DType::s32, answers);
    return {s32_constant(graph, 0),
            none,
            broadcast_to(reshape(constant(graph, first, {DType::f32, {K_}}), {1, K_}), beams),
            none,
            constant(graph, kNever, DType::f32, beams),
            constant(graph, 0, DType::f32, beams),
            reshape(live_, {B_, 1}),
            next_.cache};
  }

  // Returns length^length_penalty, the divisor of scores, in the shape of `like`.
  Tensor length_norm(Tensor length, Tensor like) const {
    const Tensor power = power_of(convert(length, DType::f32));
    return broadcast_to(reshape(power, Dims(like.dims().size(), 1)), like.dims());
  }
  Tensor power_of(Tensor length) const {
    return power(length, full_like(length, search_.length_penalty));
  }

  Tensor is_running(Graph& graph, const Beams& in) const {
    const Tensor more = compare(in.position, s32_constant(graph, T_), Compare::lt);
    const Tensor open = reduce_max(in.open, {0, 1});
    return bitwise_and(more, compare(open, zeros_like(open), Compare::gt));
  }

  // Returns flags [B,1]: the best running beam may still exceed the worst finished one. Rows are
  // independent, so that outputs do not depend on the other rows of the batch.
  Tensor may_improve(Graph& graph, const Beams& in) const {
    const Tensor best = slice_axis(in.scores, 1, 0, 1);
    const bool at_longest = search_.early_stop == EarlyStop::never && search_.length_penalty > 0;
    const Tensor bound =
        best / length_norm(at_longest ? s32_constant(graph, T_) : in.position, best);
    const Tensor all_ended = -reduce_max(-in.is_ended, {1}, KeepDims::yes);
    const Tensor least = -reduce_max(-in.ended_scores, {1}, KeepDims::yes);
    const Tensor better = flags(compare(bound, least, Compare::gt));
    const Tensor open = search_.early_stop == EarlyStop::yes ? zeros_like(better) : better;
    return maximum(open, 1.0 - all_ended);
  }

  // Returns log p of each next word plus that of its beam: f32 [B,K V].
  Tensor extended_scores(Graph& graph, const Beams& in, std::vector<Tensor>& cache) const {
    const Tensor zero = s32_constant(graph, 0);
    const Tensor before = maximum(in.position - s32_constant(graph, 1), zero);
    const Tensor last_ids =
        reshape(dynamic_slice(in.ids, {zero, zero, before}, {B_, K_, 1}), {B_ * K_});
    const Tensor is_first = broadcast_to(compare(in.position, zero, Compare::eq), last_ids.dims());
    const Tensor last =
        select(is_first, full_like(last_ids, static_cast<double>(next_.start)), last_ids);
    const Tensor scores = next_.scores(graph, last, in.position, cache);
    const auto V = scores.dim(1);
    const Tensor logs =
        reshape(mask_forbidden(search_, next_, log_softmax(scores), in.position), {B_, K_, V});
    return reshape(logs + broadcast_to(reshape(in.scores, {B_, K_, 1}), logs.dims()), {B_, K_ * V});
  }

  Beams step(Graph& graph, const Beams& in) const {
    std::vector<Tensor> cache = in.cache;
    const Tensor logs = extended_scores(graph, in, cache);
    const auto best = top_k(logs, 2 * K_);  // enough that K beams remain even if K end
    const Tensor words = full_like(best[1], static_cast<double>(logs.dim(1) / K_));
    const Tensor from = best[1] / words, word = remainder(best[1], words);
    const Tensor ids = with_token(gather_items(in.ids, from), word, in.position);
    const Tensor length = in.position + s32_constant(graph, 1);
    // At the last position every beam counts as finished, so it competes with those that produced
    // the end token.
    const Tensor is_last = flags(compare(length, s32_constant(graph, T_), Compare::ge));
    const Tensor says_end =
        flags(compare(word, full_like(word, static_cast<double>(next_.end)), Compare::eq));
    const Tensor ends = maximum(says_end, broadcast_to(is_last, says_end.dims()));

    const auto running = top_k(best[0] + ends * kNever, K_);
    const Tensor rows = reshape(gather_items(from, running[1]), {B_, K_});
    for (Tensor& t : cache) t = reordered(t, rows);

    const Tensor among_best = flags(compare(iota(graph, {DType::s32, ends.dims()}, 1),
                                            full_like(word, static_cast<double>(K_)), Compare::lt));
    const Tensor just = ends * among_best;
    const Tensor excluded = 1.0 - just * broadcast_to(in.open, just.dims());
    const Tensor ended = best[0] / length_norm(length, best[0]) + excluded * kNever;
    const Tensor all_scores = concatenate({in.ended_scores, ended}, 1);
    const Tensor kept = top_k(all_scores, K_)[1];
    Beams out{length,
              gather_items(ids, running[1]),
              running[0],
              gather_items(concatenate({in.ended_ids, ids}, 1), kept),
              gather_items(all_scores, kept),
              gather_items(concatenate({in.is_ended, just}, 1), kept),
              in.open,
              std::move(cache)};
    out.open = in.open * may_improve(graph, out);
    return out;
  }

  // Reorders the rows of the KV cache x [B K,…] by the beams `which` [B,K] that are continued.
  Tensor reordered(Tensor x, Tensor which) const {
    Dims split = x.dims();
    split[0] = K_;
    split.insert(split.begin(), B_);
    return reshape(gather_items(reshape(x, split), which), x.dims());
  }

  const Search& search_;
  const NextWords& next_;
  Tensor live_;
  std::int64_t B_, K_, T_;
};

}  // namespace

void check_search(const Search& c, std::int64_t words) {
  const auto require = [](bool fine, const std::string& what, const char* hint) {
    if (!fine) throw UsageError("generate: " + what, hint);
  };
  require(c.most_tokens >= 1 && c.least_tokens >= 0 && c.least_tokens <= c.most_tokens,
          str("output length is from ", c.least_tokens, " to ", c.most_tokens, " tokens"),
          "the maximum must be at least 1 and not below the minimum");
  require(c.beams >= 1 && 2 * c.beams <= words,
          str(c.beams, " beams, must be from 1 to ", words / 2),
          "use half as many beams as words "
          "at most");
  require(!c.sample || c.beams == 1, str("sampling cannot be combined with ", c.beams, " beams"),
          "remove --sample or --beams");
  require(c.answers >= 1 && (c.sample || c.answers <= c.beams),
          str(c.answers, " outputs requested from ", c.beams, c.beams == 1 ? " beam" : " beams"),
          c.beams == 1 ? "add --sample or --beams" : "request at most as many outputs as beams");
  // The temperature is limited because it also divides the score of forbidden words, -1e9, which
  // must stay far below all others.
  require(c.temperature > 0 && c.temperature <= 1e4,
          str("temperature is ", c.temperature, ", must be above 0 and at most 10000"),
          "use 1 for the model's probabilities");
  require(c.top_k >= 0 && c.top_p > 0 && c.top_p <= 1,
          str("top-k is ", c.top_k, ", must be at least 0, and top-p is ", c.top_p,
              ", must be above 0 and at most 1"),
          "use top-k 0 and top-p 1 for no limit");
  require(std::isfinite(c.length_penalty),
          str("length penalty is ", c.length_penalty, ", must be finite"),
          "1 is usual, 0 disables it");
  require(c.sample || (c.temperature == 1 && c.top_k == 0 && c.top_p == 1),
          "temperature, top-k and top-p require sampling", "add --sample, or remove them");
  require(c.beams > 1 || (c.early_stop == EarlyStop::no && c.length_penalty == 1),
          "early stopping and length penalty require beam search", "add --beams, or remove them");
}

std::int64_t rows_of_text(const Search& c) { return c.sample ? c.answers : c.beams; }

Answers answers(const Scope& s, const Search& search, const NextWords& next, Tensor live) {
  if (search.beams > 1) return BeamSearch(search, next, live).run(s.graph());
  return generate_tokens(s, search, next, live);
}

}  // namespace smelt::model
