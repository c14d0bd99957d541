// In which order records are trained on: a shuffle of which any place is found at once, and which
// reads them in runs of neighbours. Records of one run far apart would each be a request to an
// object store.
#pragma once

#include <cstdint>

namespace smelt {

// So many blocks are shuffled among each other, record by record.
constexpr std::uint64_t kGroupBlocks = 64;

// An epoch is cut into blocks of neighbours, which are permuted; then each kGroupBlocks of them in
// that order are a group, whose records are permuted. What is left over, fewer records than a
// block, is part of the last group. Up to a group's size this is a permutation of all records.
class RecordOrder {
 public:
  RecordOrder(std::uint64_t records, std::uint64_t block, std::uint64_t key);

  // The record < `records` at a position of the endless sequence of epochs, each of which holds
  // every record once.
  std::uint64_t operator()(std::uint64_t position) const;

 private:
  std::uint64_t records_, block_, group_, groups_, block_key_, record_key_;
};

}  // namespace smelt
