#include "data/record_order.h"

#include <algorithm>

#include "base/error.h"
#include "base/philox.h"
#include "data/permutation.h"

namespace smelt {

RecordOrder::RecordOrder(std::uint64_t records, std::uint64_t block, std::uint64_t key)
    : records_(records),
      block_(block),
      group_(block * kGroupBlocks),
      groups_((records + group_ - 1) / group_),
      block_key_(random_key(key, "blocks")),
      record_key_(random_key(key, "records of a group")) {
  CHECK(records > 0 && block > 0);
}

std::uint64_t RecordOrder::operator()(std::uint64_t position) const {
  const std::uint64_t epoch = position / records_, in_epoch = position % records_;
  const std::uint64_t group = in_epoch / group_, first = group * group_;
  const Permutation of_group(std::min(group_, records_ - first), record_key_,
                             epoch * groups_ + group);
  const std::uint64_t place = first + of_group(in_epoch - first);
  const std::uint64_t block = place / block_, blocks = records_ / block_;
  if (block == blocks) return place;
  return Permutation(blocks, block_key_, epoch)(block) * block_ + place % block_;
}

}  // namespace smelt
