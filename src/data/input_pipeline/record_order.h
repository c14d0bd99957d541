// In which order records are trained on: a shuffle of which any place is found at once, which reads
// records in runs of neighbours, and of which each of several hosts reads its own part
// (docs/reference/formats/record_order.md).
#pragma once

#include <cstdint>
#include <vector>

namespace smelt {

// So many blocks of neighbours are shuffled among each other, record by record, at a time.
constexpr std::uint64_t kMixedBlocks = 64;
constexpr std::uint64_t kStripes = 16;

// Positions count through an endless sequence of epochs, each of which holds every record once, in
// an order of its own. Up to kMixedBlocks blocks of records this is a permutation of all of them.
// Of more, every stripe owns an equal part: every kStripes-th block. A position draws from the
// stripe that its number names, wherever in an epoch it lies.
class RecordOrder {
 public:
  RecordOrder(std::uint64_t records, std::uint64_t block, std::uint64_t key);

  // The record < `records` at a position.
  std::uint64_t operator()(std::uint64_t position) const;

  // Of kStripes: the bits of the position's last digit in base kStripes, reversed, by which any 2,
  // 4, 8 or 16 positions in a row, from a multiple of as many on, draw from as many stripes far
  // apart.
  static std::uint64_t stripe(std::uint64_t position);

 private:
  // What one epoch draws from one stripe.
  struct Part {
    std::uint64_t epoch, stripe;
    std::uint64_t size;      // positions
    std::uint64_t leftover;  // the number of the leftover record that it draws, if any
  };
  std::uint64_t place_in(const Part& part, std::uint64_t number) const;
  std::uint64_t record_at(const Part& part, std::uint64_t place) const;

  std::uint64_t records_, block_;
  std::uint64_t stripe_blocks_;   // whole blocks of each stripe
  std::uint64_t stripe_records_;  // records of each stripe
  std::uint64_t leftover_;        // fewer than kStripes, of no stripe, the last
  std::uint64_t all_key_, block_key_, record_key_, turn_key_;
};

// The positions of the rows [begin, end) of a batch of `batch_size` that begins at a multiple of
// it: a batch's rows are sorted by stripe, those of one stripe by position. When 2, 4, 8 or 16
// equal runs of rows make the batch, the n-th of them draws from the n-th equal run of stripes.
std::vector<std::uint64_t> positions_of_rows(std::uint64_t step, std::uint64_t batch_size,
                                             std::uint64_t begin, std::uint64_t end);

}  // namespace smelt
