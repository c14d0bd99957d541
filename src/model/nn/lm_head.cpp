#include "model/nn/lm_head.h"

#include <algorithm>

#include "compiler/ops/ops.h"
#include "model/nn/einsum.h"
#include "model/nn/layers.h"

namespace smelt::model {

using compiler::argmax;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::exp;
using compiler::full_like;
using compiler::Graph;
using compiler::log;
using compiler::maximum;
using compiler::pad;
using compiler::reduce_max;
using compiler::reduce_sum;
using compiler::RematPolicy;
using compiler::reshape;
using compiler::rounded;
using compiler::scan;
using compiler::ScanBody;
using compiler::select;
using compiler::stop_gradient;
using compiler::Tensor;
namespace {

constexpr double kNever = -1e30;  // a score whose exponential is 0

// Returns the number of blocks into which the words are split so that the scores of one block, for
// `heads` heads of this size, take at most logits_bytes per device. Returns 1 if the vocabulary is
// sharded.
std::int64_t count_blocks(const Scope& s, const LmHead& head, std::int64_t heads = 1) {
  const ComputePolicy& c = s.compute();
  const std::int64_t I = head.rows.dim(0), V = head.words.dim(0);
  std::int64_t bytes = heads * I * V * static_cast<std::int64_t>(sizeof(float));
  if (c.partition) {
    if (c.partition->splits_in_use("vocab")) return 1;
    bytes /= c.partition->row_shards();
  }
  if (c.logits_bytes == 0 || bytes <= c.logits_bytes) return 1;
  const std::int64_t max_words = std::max<std::int64_t>(V / ((bytes - 1) / c.logits_bytes + 1), 1);
  return (V - 1) / max_words + 1;
}

// Splits x [V,…] into [count, ceil(V / count), …], padded with `fill`.
Tensor in_blocks_of_words(Tensor x, std::int64_t count, double fill) {
  const std::int64_t V = x.dim(0), size = (V - 1) / count + 1;
  Dims high(x.dims().size()), dims = x.dims();
  high[0] = count * size - V;
  dims[0] = size;
  dims.insert(dims.begin(), count);
  return reshape(high[0] == 0 ? x : pad(x, fill, Dims(high.size()), high), dims);
}

Tensor column(Tensor x) { return reshape(x, {x.dim(0), 1}); }

// Returns 1 at the label of each row, 0 elsewhere.
Tensor one_hot_labels(Tensor labels, Tensor scores) {
  return one_hot(labels, scores.dim(1), scores.dtype());
}

// Returns the number of words other than the label whose score is at least `of_label` [I].
Tensor count_rivals(Tensor scores, Tensor labels, Tensor of_label) {
  const Tensor reached =
      compare(scores, broadcast_to(column(of_label), scores.dims()), Compare::ge);
  return reduce_sum(convert(reached, DType::f32) * (1.0 - labels), {1});
}

// The head's words in blocks of equal size. The last block is padded with words that have no
// probability.
struct WordBlocks {
  std::int64_t count = 0;
  Tensor words, bias;  // [count,V/count,…]
  Tensor rows;         // f32, as its gradient is a sum over blocks
  DType dtype;         // type of the rows in matmuls
  double scale;

  WordBlocks(const LmHead& head, std::int64_t count)
      : count(count),
        words(in_blocks_of_words(head.words, count, 0)),
        bias(in_blocks_of_words(head.bias, count, kNever)),
        rows(in_f32(head.rows)),
        dtype(head.rows.dtype()),
        scale(head.scale) {}

  Tensor scores(ScanBody& body) const {
    const Tensor own = convert(body.graph().capture(rows), dtype);
    return lm_logits({own, body.slice(words), body.slice(bias), scale});
  }
};

// The word blocks with the labels of the rows.
struct LabelBlocks {
  WordBlocks words;
  Tensor labels;

  struct Block {
    Tensor scores, labels;
    Tensor first;  // s32 [I]: first word of the block
  };
  Block block(ScanBody& body) const {
    const Tensor scores = words.scores(body);
    const Tensor first = broadcast_to(
        body.index() * full_like(body.index(), static_cast<double>(scores.dim(1))), labels.dims());
    return {scores, one_hot_labels(body.graph().capture(labels) - first, scores), first};
  }
};

// Computes, each [I]: the largest score, the sum of exp(score - largest), the label's score, and
// the word with the largest score. The largest score needs no gradient: log(sum) + largest has the
// same value for any other reference in its place.
std::vector<Tensor> running_sums(Graph& graph, const LabelBlocks& blocks, Tensor zeros) {
  const auto step = [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
    const auto [scores, labels, first] = blocks.block(body);
    const Tensor before = stop_gradient(carry[0]);
    const Tensor own_top = stop_gradient(reduce_max(scores, {1}));
    const Tensor top = maximum(before, own_top);
    const Tensor sum = carry[1] * exp(before - top) + reduce_sum(exp(scores - column(top)), {1});
    const Tensor own_best = convert(argmax(scores, 1) + first, DType::f32);
    const Tensor best = select(compare(own_top, before, Compare::gt), own_best, carry[3]);
    return {.carry = {top, sum, carry[2] + reduce_sum(scores * labels, {1}), best}};
  };
  return scan(graph, blocks.words.count, {zeros + kNever, zeros, zeros, zeros}, RematPolicy::layer,
              step)
      .carry;
}

LabelScores score_labels_in_blocks(Graph& graph, const LabelBlocks& blocks) {
  const Tensor zeros = constant(graph, 0, DType::f32, {blocks.words.rows.dim(0)});
  const auto sums = running_sums(graph, blocks, zeros);
  const auto count = [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
    const auto [scores, labels, first] = blocks.block(body);
    return {.carry = {carry[0] + count_rivals(scores, labels, body.graph().capture(sums[2]))}};
  };
  const auto rivals = scan(graph, blocks.words.count, {zeros}, RematPolicy::none, count).carry;
  const Tensor log_sum = sums[0] + log(sums[1]);
  return {.loss = log_sum - sums[2],
          .rank = rivals[0] + 1.0,
          .best = convert(sums[3], DType::s32),
          .log_sum = log_sum};
}

// A running sum of exponentials of scores, relative to the largest score so far.
struct RunningSum {
  Tensor top, sum;

  Tensor log_sum() const { return top + log(sum); }
};

// The result of adding a block of scores [I,…] to a running sum: the new sum, the block's
// exponentials relative to the new largest score, and the factor that makes earlier exponentials
// relative to the new largest score.
struct AddedBlock {
  RunningSum after;
  Tensor exponentials, rescale;
};
AddedBlock add_block(const RunningSum& before, Tensor scores) {
  const Tensor old_top = stop_gradient(before.top);
  const Tensor top = maximum(old_top, stop_gradient(reduce_max(scores, {1})));
  const Tensor exponentials = exp(scores - column(top)), rescale = exp(old_top - top);
  return {.after = {top, before.sum * rescale + reduce_sum(exponentials, {1})},
          .exponentials = exponentials,
          .rescale = rescale};
}

// With scores t and s over the temperature: KL = sum of p_t (t - s) - log_sum(t) + log_sum(s). The
// loop carries both sums of exponentials and the sum of exp(t - largest t) (t - s).
Tensor divergence_in_blocks(Graph& graph, const WordBlocks& student, const WordBlocks& teacher,
                            double temperature) {
  const Tensor zeros = constant(graph, 0, DType::f32, {student.rows.dim(0)});
  const double inverse = 1 / temperature;
  const auto step = [&](ScanBody& body, std::span<const Tensor> carry) -> ScanStep {
    const Tensor s = student.scores(body) * inverse, t = teacher.scores(body) * inverse;
    const AddedBlock of_s = add_block({carry[0], carry[1]}, s);
    const AddedBlock of_t = add_block({carry[2], carry[3]}, t);
    const Tensor weighted = reduce_sum(of_t.exponentials * (t - s), {1});
    return {.carry = {of_s.after.top, of_s.after.sum, of_t.after.top, of_t.after.sum,
                      carry[4] * of_t.rescale + weighted}};
  };
  const std::vector<Tensor> first{zeros + kNever, zeros, zeros + kNever, zeros, zeros};
  const auto sums = scan(graph, student.count, first, RematPolicy::layer, step).carry;
  const RunningSum of_s{sums[0], sums[1]}, of_t{sums[2], sums[3]};
  return sums[4] / of_t.sum - of_t.log_sum() + of_s.log_sum();
}

}  // namespace

Tensor lm_logits(const LmHead& head) {
  const Tensor words = rounded(head.words, head.rows.dtype());
  const Tensor products = einsum("ie,ve->iv", head.rows, words, DType::f32);
  return (head.scale == 1 ? products : products * head.scale) + head.bias;
}

LabelScores score_labels(const Scope& s, const LmHead& head, Tensor labels) {
  const std::int64_t count = count_blocks(s, head);
  if (count > 1) return score_labels_in_blocks(s.graph(), {{head, count}, labels});
  const Tensor scores = lm_logits(head), one_hot = one_hot_labels(labels, scores);
  const Tensor of_label = reduce_sum(scores * one_hot, {1});
  const Tensor loss = cross_entropy(scores, labels);
  return {.loss = loss,
          .rank = count_rivals(scores, one_hot, of_label) + 1.0,
          .best = argmax(scores, 1),
          .log_sum = loss + of_label};
}

Tensor word_divergence(const Scope& s, const LmHead& student, const LmHead& teacher,
                       double temperature) {
  const LmHead fixed{.rows = stop_gradient(teacher.rows),
                     .words = stop_gradient(teacher.words),
                     .bias = stop_gradient(teacher.bias),
                     .scale = teacher.scale};
  const std::int64_t count = count_blocks(s, student, 2);
  if (count > 1)
    return divergence_in_blocks(s.graph(), {student, count}, {fixed, count}, temperature);
  return divergence_of_scores(lm_logits(student) * (1 / temperature),
                              lm_logits(fixed) * (1 / temperature));
}

Tensor divergence_of_scores(Tensor student, Tensor teacher) {
  const auto log_sums = [](Tensor x) { return column(log_sum_exp(x)); };
  const Tensor log_ratio = (teacher - log_sums(teacher)) - (student - log_sums(student));
  return reduce_sum(softmax(teacher) * log_ratio, {1});
}

}  // namespace smelt::model
