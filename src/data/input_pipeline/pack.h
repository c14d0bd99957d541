// Packs the sequences of a training batch into fewer rows. The layout depends only on the batch, so
// a resumed run packs each step as before.
//
// The sequences are first dealt to the shards of the step (devices and micro-batches), so that all
// shards get the same number of sequences and nearly as many tokens. Each shard then places its
// sequences into rows by best-fit decreasing: longest first, each into the fullest row that has
// room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/input_pipeline/batch.h"
#include "data/input_pipeline/example_source.h"

namespace smelt::data {

// How batches are packed.
struct PackingPlan {
  std::string tokens;              // the feature [S] whose nonzero values are the tokens
  std::int64_t length = 0;         // S: tokens per row
  std::int64_t batch_size = 0;     // sequences in a step over all devices
  std::int64_t devices = 1;        // a batch is split into this many parts of adjacent sequences
  std::int64_t micro_batches = 1;  // a device's part is split into this many: every n-th sequence
  std::int64_t rows = 0;           // packed rows per shard
  // choose_rows() sets these from the batches that it reads.
  double fitting = 1;             // the share of the batches that fits into `rows`
  double time = 1;                // the mean time of a step divided by its time without packing
  std::uint32_t lengths_crc = 0;  // a checksum of the sequences' lengths

  std::int64_t shards() const { return devices * micro_batches; }
  std::int64_t shard_size() const { return batch_size / shards(); }  // sequences per shard
  // Returns the number of slots (token positions of the packed rows) per sequence. It is rounded
  // up, so the last slots of a shard may be unused.
  std::int64_t slots() const { return (rows * length - 1) / shard_size() + 1; }
};

// Returns the number of tokens of each sequence, or nullopt if a sequence has no tokens, or padding
// before a token.
std::optional<std::vector<std::int64_t>> sequence_lengths(const HostArray& tokens);

// The place of a batch's sequences.
struct PackedPlaces {
  // For each place in the packed batch, the index of its sequence in the given batch.
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> starts;  // for each place, the slot of its sequence's first token
  std::int64_t rows = 0;             // rows that the fullest shard needs
};
// Deals and places sequences of these lengths.
PackedPlaces pack_sequences(const std::vector<std::int64_t>& lengths, const PackingPlan& plan);

// Returns the whole batch packed: its sequences in another order, with the features of
// io::packing_features(plan.slots()) added. Returns nullopt if a shard needs more than plan.rows,
// or if sequence_lengths() fails.
std::optional<Batch> pack(const Batch& batch, const io::Features& features,
                          const PackingPlan& plan);

// Returns the plan with the number of rows that makes steps shortest on average, judging from
// batches that need these numbers of rows in their fullest shard: a step whose sequences do not fit
// is run without packing. If no smaller number helps, `rows` is shard_size() and `time` is 1.
PackingPlan with_best_rows(PackingPlan plan, const std::vector<std::int64_t>& needed);

// Returns with_best_rows() for the first batches of training.
PackingPlan choose_rows(const ExampleSource& source, PackingPlan plan);

// Returns this host's rows of a whole batch, and its packed form, if the sequences fit.
Batch packed_part(const Batch& whole, const io::Features& features, const PackingPlan& plan,
                  HostShare share);

}  // namespace smelt::data
