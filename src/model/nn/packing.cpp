#include "model/nn/packing.h"

#include "base/error.h"
#include "compiler/ops/ops.h"

namespace smelt::model {

using compiler::broadcast_to;
using compiler::Compare;
using compiler::compare;
using compiler::DType;
using compiler::full_like;
using compiler::gather_items;
using compiler::iota;
using compiler::move_items;
using compiler::reshape;
using compiler::select;
using compiler::slice_axis;
using compiler::Tensor;
using compiler::zeros_like;

PackedRows::PackedRows(const Scope& s, const Packing& packing, Tensor mask)
    : shards_(s.compute().partition ? s.compute().partition->row_shards() : 1) {
  const std::int64_t B = mask.dim(0), S = mask.dim(1), slots = packing.tokens.shape().elements();
  CHECK(B % shards_ == 0 && slots % shards_ == 0, B, " sequences, ", slots, " slots");
  const std::int64_t rows = slots / shards_ / S;  // per shard; the slots behind them are unused
  dims_ = {shards_ * rows, S};
  from_ = slice_axis(reshape(packing.tokens, {shards_, slots / shards_}), 1, 0, rows * S);
  const Tensor index = iota(mask.graph(), {DType::s32, {B, S}}, 1) +
                       broadcast_to(reshape(packing.starts, {B, 1}), {B, S});
  const Tensor is_token = compare(mask, zeros_like(mask), Compare::gt);
  to_ = reshape(select(is_token, index, full_like(index, -1)), {shards_, B / shards_ * S});

  const Tensor used = compare(from_, zeros_like(from_), Compare::ge);
  const Tensor length = full_like(from_, static_cast<double>(S));
  const Tensor sequence = select(used, from_ / length, zeros_like(from_));
  sequences_ = reshape(select(used, sequence + 1.0, zeros_like(from_)), dims_);
  positions_ = reshape(select(used, from_ - sequence * length, zeros_like(from_)), dims_);
  rows_ = reshape(gather_items(reshape(packing.rows, {shards_, B / shards_}), sequence), dims_);
}

Tensor PackedRows::packed(Tensor values) const {
  return reshape(move_items(reshape(values, to_.dims()), from_, to_), dims_);
}

Tensor PackedRows::unpacked(Tensor x) const {
  const std::int64_t H = x.dim(2), S = dims_[1];
  const Tensor items = reshape(x, {shards_, from_.dim(1), H});
  return reshape(move_items(items, to_, from_), {to_.shape().elements() / S, S, H});
}

}  // namespace smelt::model
