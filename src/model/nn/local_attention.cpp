#include "model/nn/local_attention.h"

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::abs;
using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::concatenate;
using compiler::constant;
using compiler::convert;
using compiler::Dims;
using compiler::DType;
using compiler::full_like;
using compiler::Graph;
using compiler::iota;
using compiler::pad;
using compiler::reshape;
using compiler::Shape;
using compiler::slice;
using compiler::slice_axis;
using compiler::Tensor;
namespace {

// The partition of S tokens into `count` blocks of C queries; the last block may be padded. Each
// block attends to the tokens from W before its first to W behind its last.
struct Blocks {
  Blocks(std::int64_t S, std::int64_t window)
      : W(window), C(2 * window), S(S), count((S - 1) / C + 1) {}
  std::int64_t W, C, S, count;
};

// Pads x [B,S,...] along the tokens.
Tensor pad_tokens(Tensor x, std::int64_t before, std::int64_t after, double value) {
  Dims low(x.dims().size()), high(x.dims().size());
  low[1] = before;
  high[1] = after;
  return pad(x, value, low, high);
}

// Returns the queries of each block: [B,S,...] -> [B*count,C,...].
Tensor by_queries(Tensor x, const Blocks& b) {
  Dims dims = x.dims();
  dims[0] *= b.count;
  dims[1] = b.C;
  return reshape(pad_tokens(x, 0, b.count * b.C - b.S, 0), dims);
}

// Returns the keys of each block: [B,S,...] -> [B*count,4W,...]. Positions outside the sequence get
// `value`.
Tensor by_keys(Tensor x, const Blocks& b, double value) {
  const std::int64_t B = x.dim(0), parts = 2 * b.count + 2;  // of W tokens
  Dims dims = x.dims();
  dims[1] = parts;
  dims.insert(dims.begin() + 2, b.W);
  const Tensor all = reshape(pad_tokens(x, b.W, b.count * b.C - b.S + b.W, value), dims);
  // Block i attends to the parts 2i … 2i + 3.
  std::vector<Tensor> reached;
  for (std::int64_t part = 0; part < 4; ++part) {
    Dims start(dims.size()), limit = dims, stride(dims.size(), 1);
    start[1] = part;
    limit[1] = part + 2 * (b.count - 1) + 1;
    stride[1] = 2;
    reached.push_back(slice(all, start, limit, stride));
  }
  Dims out = x.dims();
  out[0] = B * b.count;
  out[1] = 4 * b.W;
  return reshape(concatenate(reached, 2), out);
}

// Returns a bias [B or 1,1,1,S] for the keys of each block: [B*count,1,1,4W].
Tensor bias_by_keys(Tensor bias, std::int64_t B, const Blocks& b) {
  CHECK(bias.dim(1) == 1 && bias.dim(2) == 1, bias.shape());
  const Tensor flat = broadcast_to(reshape(bias, {bias.dim(0), b.S}), {B, b.S});
  return reshape(by_keys(flat, b, kMaskedScore), {B * b.count, 1, 1, 4 * b.W});
}

Tensor blockwise_attention(const Scope& s, const AttentionInputs& in, const Blocks& b) {
  const std::int64_t B = in.q.dim(0), N = in.q.dim(2), D = in.q.dim(3);
  Graph& graph = s.graph();
  AttentionInputs blocks{.q = by_queries(in.q, b),
                         .k = by_keys(in.k, b, 0),
                         .v = by_keys(in.v, b, 0),
                         .scaled = in.scaled};
  for (const Tensor& bias : in.biases)
    blocks.biases.push_back(bias_by_keys(graph.capture(bias), B, b));
  if (in.key_sequences) {
    blocks.query_sequences = by_queries(graph.capture(in.query_sequences), b);
    blocks.key_sequences = by_keys(graph.capture(in.key_sequences), b, -1);
  } else if (in.biases.empty()) {
    blocks.biases.push_back(bias_by_keys(constant(graph, 0, DType::f32, {1, 1, 1, b.S}), B, b));
  }
  blocks.biases.push_back(window_bias(graph, b.C, 4 * b.W, b.W, b.W));
  const Tensor all = reshape(attention(s, blocks), {B, b.count * b.C, N, D});
  return slice_axis(all, 1, 0, b.S);
}

}  // namespace

Tensor window_bias(Graph& graph, std::int64_t Q, std::int64_t K, std::int64_t first,
                   std::int64_t window) {
  const Shape shape{DType::f32, {1, 1, Q, K}};
  const Tensor distance =
      abs(iota(graph, shape, 2) + static_cast<double>(first) - iota(graph, shape, 3));
  const Tensor reach = full_like(distance, static_cast<double>(window));
  return kMaskedScore * convert(compare(distance, reach, Compare::gt), DType::f32);
}

Tensor local_attention(const Scope& s, const AttentionInputs& in, std::int64_t window) {
  const std::int64_t S = in.q.dim(1);
  CHECK(in.k.dim(1) == S && !in.relative_k, in.q.shape(), " ", in.k.shape());
  const bool drops = s.training() && in.dropout > 0;  // whose bits are numbered by row and key
  if (!drops && window > 0 && 8 * window <= S) return blockwise_attention(s, in, Blocks(S, window));
  AttentionInputs all = in;
  all.biases.push_back(window_bias(s.graph(), S, S, 0, window));
  return attention(s, all);
}

}  // namespace smelt::model
