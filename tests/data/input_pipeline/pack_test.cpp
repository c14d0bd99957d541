// Packing the sequences of a batch into fewer rows.
#include "data/input_pipeline/pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/philox.h"
#include "io/formats/packing_features.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;

PackingPlan plan_of(std::int64_t length, std::int64_t batch_size, std::int64_t devices = 1,
                    std::int64_t micro_batches = 1) {
  return {.tokens = "input_mask",
          .length = length,
          .batch_size = batch_size,
          .devices = devices,
          .micro_batches = micro_batches};
}

const io::Features kFeatures{{.name = "input_ids", .row = {8}}, {.name = "input_mask", .row = {8}}};

// Returns a batch in which token p of sequence i is 100 * i + p.
Batch batch_of(const std::vector<std::int64_t>& lengths) {
  Batch batch = empty_batch(kFeatures, std::ssize(lengths));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    for (std::size_t p = 0; p < static_cast<std::size_t>(lengths[i]); ++p) {
      batch.arrays[0].values<std::int32_t>()[8 * i + p] = static_cast<std::int32_t>(100 * i + p);
      batch.arrays[1].values<std::int32_t>()[8 * i + p] = 1;
    }
  return batch;
}

std::vector<std::int32_t> values(const Batch& batch, std::size_t array) {
  const auto all = batch.arrays[array].values<std::int32_t>();
  return {all.begin(), all.end()};
}

TEST(Packing, PlacesTheLongestSequencesFirstIntoTheFullestRow) {
  // Rows of 10: 7 + 3, 6 + 4, 5 + 2.
  const PackedPlaces places = pack_sequences({2, 3, 4, 5, 6, 7}, plan_of(10, 6));
  EXPECT_THAT(places.order, ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(places.starts, ElementsAre(0, 10, 20, 16, 7, 25));
  EXPECT_EQ(places.rows, 3);
}

// Each sequence is placed once, and no two overlap, whatever the lengths and the shards.
TEST(Packing, GivesEachShardAsManySequencesAndNoSlotTwice) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const PackingPlan plan = plan_of(16, 48, seed % 2 == 0 ? 1 : 4, seed % 3 == 0 ? 1 : 3);
    std::vector<std::int64_t> lengths;
    for (std::uint64_t i = 0; i < 48; ++i) lengths.push_back(1 + philox(seed, i, 0)[0] % 16);
    const PackedPlaces places = pack_sequences(lengths, plan);
    EXPECT_THAT(std::set(places.order.begin(), places.order.end()), testing::SizeIs(48));
    std::vector<std::set<std::int64_t>> slots(12);
    std::vector<std::int64_t> tokens(12);
    for (std::size_t place = 0; place < 48; ++place) {
      const auto device = static_cast<std::int64_t>(place) / (48 / plan.devices);
      const auto part = static_cast<std::int64_t>(place) % (48 / plan.devices) % plan.micro_batches;
      const auto shard = static_cast<std::size_t>(device * plan.micro_batches + part);
      const std::int64_t count = lengths[static_cast<std::size_t>(places.order[place])];
      const std::int64_t start = places.starts[place];
      EXPECT_EQ(start / 16, (start + count - 1) / 16) << "a sequence is split over two rows";
      for (std::int64_t i = 0; i < count; ++i) EXPECT_TRUE(slots[shard].insert(start + i).second);
      EXPECT_LT(start, 16 * places.rows);
      tokens[shard] += count;
    }
    const auto shards = std::span(tokens).first(static_cast<std::size_t>(plan.shards()));
    EXPECT_LE(std::ranges::max(shards) - std::ranges::min(shards), 16) << "dealt unequally";
  }
}

TEST(Packing, DescribesWhereEachTokenIs) {
  PackingPlan plan = plan_of(8, 4, 2);
  plan.rows = 1;
  // The first device gets sequences 3 and 2, the second one 1 and 0: longest first, then to the
  // device with fewer tokens.
  const auto packed = pack(batch_of({3, 4, 2, 5}), kFeatures, plan);
  ASSERT_TRUE(packed);
  EXPECT_THAT(values(*packed, 4), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(values(*packed, 3), ElementsAre(0, 5, 0, 4));
  EXPECT_THAT(values(*packed, 2), ElementsAre(0, 1, 2, 3, 4, 8, 9, -1,  //
                                              0, 1, 2, 3, 8, 9, 10, -1));
  EXPECT_EQ(values(*packed, 0)[8], 200);
  EXPECT_EQ(packed->arrays[2].shape.dims, (compiler::Dims{4, 4}));
}

TEST(Packing, LeavesBatchesThatDoNotFit) {
  PackingPlan plan = plan_of(8, 4);
  plan.rows = 2;
  EXPECT_TRUE(pack(batch_of({4, 4, 4, 4}), kFeatures, plan));
  EXPECT_FALSE(pack(batch_of({4, 5, 4, 4}), kFeatures, plan));
  Batch gap = batch_of({2, 2, 2, 2});
  gap.arrays[1].values<std::int32_t>()[5] = 1;  // a token after padding
  EXPECT_FALSE(pack(gap, kFeatures, plan));
  EXPECT_FALSE(pack(batch_of({4, 0, 4, 4}), kFeatures, plan)) << "a sequence without tokens";
  const Batch part = packed_part(batch_of({4, 5, 4, 4}), kFeatures, plan, {.host = 1, .hosts = 2});
  EXPECT_EQ(part.rows, 2);
  EXPECT_EQ(values(part, 0)[0], 200);
  EXPECT_EQ(part.packed, nullptr);
}

// A source of batches of random lengths.
class RandomLengths : public ExampleSource {
 public:
  explicit RandomLengths(std::int64_t most) : ExampleSource(kFeatures), most_(most) {}
  std::uint64_t size() const override { return 1000; }
  const std::vector<std::string>& files() const override { return files_; }
  std::optional<DataDescription> description() const override { return {}; }

 private:
  void put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const override {
    std::vector<std::int64_t> lengths;
    for (const std::uint64_t at : positions) lengths.push_back(1 + philox(7, at, 0)[0] % most_);
    batch = batch_of(lengths);
  }
  void put_in_order(std::uint64_t, std::uint64_t, Batch&, std::size_t) const override {}

  std::int64_t most_;
  std::vector<std::string> files_;
};

TEST(Packing, EachHostGetsItsRowsOfThePackedBatch) {
  PackingPlan plan = plan_of(8, 4, 2);
  plan.rows = 1;
  const Batch whole = batch_of({3, 4, 2, 5});
  const Batch packed = pack(whole, kFeatures, plan).value();
  for (const std::int64_t host : {0, 1}) {
    const Batch part = packed_part(whole, kFeatures, plan, {.host = host, .hosts = 2});
    EXPECT_EQ(values(part, 0)[0], 200 * host) << "not packed: in the given order";
    for (std::size_t array = 0; array < packed.arrays.size(); ++array) {
      const auto all = values(packed, array);
      const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
      EXPECT_EQ(values(*part.packed, array),
                std::vector(all.begin() + host * half, all.begin() + (host + 1) * half));
    }
  }
}

TEST(Packing, ChoosesTheRowsThatShortenStepsMost) {
  const PackingPlan half = choose_rows(RandomLengths(4), plan_of(8, 32));
  EXPECT_GT(half.rows, 32 * 5 / 16) << "a row of 8 holds at most 8 of 2.5 tokens on average";
  EXPECT_LT(half.rows, 14);
  EXPECT_GT(half.fitting, 0.8);
  EXPECT_NEAR(half.time, half.fitting * half.rows / 32 + (1 - half.fitting), 1e-12);
  EXPECT_EQ(choose_rows(RandomLengths(1), plan_of(8, 32)).rows, 4);
  EXPECT_NE(choose_rows(RandomLengths(3), plan_of(8, 32)).lengths_crc, half.lengths_crc);
  // Steps that need 3, 4 and 8 rows of 8: with 4 rows they take 4 + 4 + 8 of 24.
  const PackingPlan mixed = with_best_rows(plan_of(8, 8), {3, 4, 8});
  EXPECT_EQ(mixed.rows, 4);
  EXPECT_NEAR(mixed.time, 16.0 / 24, 1e-12);
  EXPECT_NEAR(mixed.fitting, 2.0 / 3, 1e-12);
}

// 5 rows of 8 slots for 9 sequences: 40 slots, 4.4 per sequence.
TEST(Packing, SlotsNeedNotDivideOverTheSequences) {
  PackingPlan plan = plan_of(8, 9);
  plan.rows = 5;
  EXPECT_EQ(plan.slots(), 5);
  const auto packed = pack(batch_of({8, 8, 3, 3, 2, 4, 4, 4, 4}), kFeatures, plan);
  ASSERT_TRUE(packed);
  const auto slots = values(*packed, 2);
  ASSERT_EQ(slots.size(), 45u);
  EXPECT_EQ(std::ranges::count(slots, -1), 5);
  EXPECT_THAT(std::vector(slots.end() - 5, slots.end()), testing::Each(-1));
}

}  // namespace
}  // namespace smelt::data
