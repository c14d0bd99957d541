// The order in which records are trained on: a shuffle with random access that reads records in
// runs of adjacent ones and lets each of several hosts read only its part
// (docs/reference/formats/record_order.md).
#pragma once

#include <cstdint>
#include <vector>

namespace smelt::data {

// Number of blocks of adjacent records whose records are shuffled together.
constexpr std::uint64_t kMixedBlocks = 64;
constexpr std::uint64_t kStripes = 16;

// Maps positions in an endless sequence of epochs to records; each epoch contains every record
// once, in a different order. If there are at most kMixedBlocks blocks of records, an epoch
// is a permutation of all records. Otherwise the blocks are divided into kStripes stripes: block i
// belongs to stripe i % kStripes. A position always draws its record from the same stripe.
class RecordOrder {
 public:
  RecordOrder(std::uint64_t records, std::uint64_t block, std::uint64_t key);

  // Returns the record (less than `records`) at a position.
  std::uint64_t operator()(std::uint64_t position) const;

  // Returns the position's stripe, less than kStripes: the bit-reversed last digit of the position
  // in base kStripes. So any aligned run of 2, 4, 8 or 16 positions draws from different stripes,
  // which are far apart.
  static std::uint64_t stripe(std::uint64_t position);

 private:
  // The part of one epoch that is drawn from one stripe.
  struct Part {
    std::uint64_t epoch, stripe;
    std::uint64_t size;      // number of positions
    std::uint64_t leftover;  // number of the leftover record that this part includes, if any
  };
  std::uint64_t place_in(const Part& part, std::uint64_t number) const;
  std::uint64_t record_at(const Part& part, std::uint64_t place) const;

  std::uint64_t records_, block_;
  std::uint64_t stripe_blocks_;   // complete blocks per stripe
  std::uint64_t stripe_records_;  // records per stripe
  std::uint64_t leftover_;        // last records, fewer than kStripes, that belong to no stripe
  std::uint64_t all_key_, block_key_, record_key_, turn_key_;
};

// Returns the positions of the rows [begin, end) of a batch of `batch_size` rows. The rows of a
// batch are sorted by stripe, then by position. If a batch is split into 2, 4, 8 or 16 equal
// parts, each part reads only its own stripes.
std::vector<std::uint64_t> positions_of_rows(std::uint64_t step, std::uint64_t batch_size,
                                             std::uint64_t begin, std::uint64_t end);

}  // namespace smelt::data
