#include "data/input_pipeline/record_order.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "data/input_pipeline/permutation.h"

namespace smelt::data {
namespace {

// Number of blocks of one stripe that are shuffled together.
constexpr std::uint64_t kGroupBlocks = kMixedBlocks / kStripes;

std::uint64_t random64(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
  const auto bits = philox(key, low, high);
  return std::uint64_t{bits[1]} << 32 | bits[0];
}

}  // namespace

RecordOrder::RecordOrder(std::uint64_t records, std::uint64_t block, std::uint64_t key)
    : records_(records),
      block_(block),
      stripe_blocks_(records <= kMixedBlocks * block ? 0 : records / block / kStripes),
      stripe_records_(records / kStripes),
      leftover_(records % kStripes),
      all_key_(random_key(key, "records")),
      block_key_(random_key(key, "blocks")),
      record_key_(random_key(key, "records of a group")),
      turn_key_(random_key(key, "turns")) {
  CHECK(records > 0 && block > 0);
}

std::uint64_t RecordOrder::stripe(std::uint64_t position) {
  static_assert(kStripes == 16);
  return (position & 1) << 3 | (position & 2) << 1 | (position & 4) >> 1 | (position & 8) >> 3;
}

std::uint64_t RecordOrder::operator()(std::uint64_t position) const {
  const std::uint64_t epoch = position / records_, in_epoch = position % records_;
  if (stripe_blocks_ == 0) return Permutation(records_, all_key_, epoch)(in_epoch);
  // Positions of one stripe are kStripes apart. The first leftover_ stripes of an epoch have one
  // position more than the others.
  const std::uint64_t rank = in_epoch % kStripes;
  const Part part{.epoch = epoch,
                  .stripe = stripe(position),
                  .size = stripe_records_ + (rank < leftover_ ? 1 : 0),
                  .leftover = rank};
  return record_at(part, place_in(part, in_epoch / kStripes));
}

// Groups of blocks are permuted one after another. An epoch begins at a random place within a
// group. If it began at the start of a group, all stripes would begin new groups at the same time,
// and incomplete groups would always be last.
std::uint64_t RecordOrder::place_in(const Part& part, std::uint64_t number) const {
  const std::uint64_t stream = part.epoch * kStripes + part.stripe;
  const std::uint64_t turned = (number + random64(turn_key_, stream, 0) % part.size) % part.size;
  const std::uint64_t size = block_ * kGroupBlocks, group = turned / size, first = group * size;
  const std::uint64_t groups = stripe_records_ / size + 1;
  const Permutation of_group(std::min(size, part.size - first), record_key_,
                             stream * groups + group);
  return first + of_group(turned - first);
}

std::uint64_t RecordOrder::record_at(const Part& part, std::uint64_t place) const {
  const std::uint64_t block = place / block_, in_blocks = stripe_blocks_ * block_;
  if (block < stripe_blocks_) {
    const Permutation of_blocks(stripe_blocks_, block_key_, part.epoch * kStripes + part.stripe);
    return (of_blocks(block) * kStripes + part.stripe) * block_ + place % block_;
  }
  if (place == stripe_records_) return kStripes * stripe_records_ + part.leftover;
  // The records after the blocks of all stripes are divided into equal runs, one per stripe.
  return kStripes * in_blocks + part.stripe * (stripe_records_ - in_blocks) + place - in_blocks;
}

std::vector<std::uint64_t> positions_of_rows(std::uint64_t step, std::uint64_t batch_size,
                                             std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t first = step * batch_size;
  std::vector<std::uint64_t> positions;
  std::uint64_t row = 0;
  for (std::uint64_t s = 0; s < kStripes && row < end; ++s) {
    const std::uint64_t digit = RecordOrder::stripe(s);  // bit reversal is its own inverse
    for (std::uint64_t i = (digit - first) % kStripes; i < batch_size; i += kStripes, ++row)
      if (row >= begin && row < end) positions.push_back(first + i);
  }
  return positions;
}

}  // namespace smelt::data
