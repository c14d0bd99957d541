#include "data/input_pipeline/record_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "base/json.h"
#include "base/philox.h"
#include "base/str.h"
#include "data/input_pipeline/permutation.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/crc32c.h"
#include "support/paths.h"

namespace smelt::data {
namespace {

using testing::ElementsAre;
using Numbers = std::vector<std::uint64_t>;

Numbers drawn(const RecordOrder& order, std::uint64_t first, std::uint64_t count) {
  Numbers out;
  for (std::uint64_t i = 0; i < count; ++i) out.push_back(order(first + i));
  return out;
}

Numbers epoch(const RecordOrder& order, std::uint64_t records, std::uint64_t number) {
  return drawn(order, number * records, records);
}

Numbers up_to(std::uint64_t count) {
  Numbers out(count);
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Returns sizes around the multiples of every number that the order divides by.
std::set<std::uint64_t> telling_sizes(std::uint64_t block) {
  std::set<std::uint64_t> sizes;
  for (const std::uint64_t blocks : {0, 1, 16, 64, 65, 79, 80, 81, 96, 127, 128, 144, 200})
    for (std::int64_t more = -17; more <= 17; ++more)
      if (const auto size = static_cast<std::int64_t>(blocks * block) + more; size > 0)
        sizes.insert(static_cast<std::uint64_t>(size));
  for (std::uint64_t i = 0; i < 20; ++i) sizes.insert(1 + philox(block, i, 0)[0] % (300 * block));
  return sizes;
}

TEST(RecordOrder, EachEpochContainsEveryRecordOnceInANewOrder) {
  for (const std::uint64_t block : {1, 4, 16})
    for (const std::uint64_t records : telling_sizes(block)) {
      const RecordOrder order(records, block, 5);
      Numbers before;
      for (std::uint64_t number = 0; number < 3; ++number) {
        Numbers all = epoch(order, records, number);
        EXPECT_TRUE(records <= 10 || all != before) << records << " in blocks of " << block;
        before = all;
        std::ranges::sort(all);
        ASSERT_EQ(all, up_to(records)) << records << " in blocks of " << block;
      }
    }
}

// The same order computed with lists: each stripe's blocks and its share of the rest are listed,
// permuted and distributed.
Numbers slow_epoch(std::uint64_t records, std::uint64_t block, std::uint64_t key,
                   std::uint64_t number) {
  const auto permuted = [](const Numbers& from, std::uint64_t place, std::uint64_t stream) {
    Numbers out;
    const Permutation permutation(from.size(), place, stream);
    for (std::uint64_t i = 0; i < from.size(); ++i) out.push_back(from[permutation(i)]);
    return out;
  };
  if (records <= 64 * block) return permuted(up_to(records), random_key(key, "records"), number);
  const std::uint64_t blocks = records / block / 16, share = records / 16;
  std::vector<Numbers> stripes(16);
  for (std::uint64_t s = 0; s < 16; ++s) {
    const std::uint64_t stream = number * 16 + s;
    for (const std::uint64_t b : permuted(up_to(blocks), random_key(key, "blocks"), stream))
      for (std::uint64_t i = 0; i < block; ++i) stripes[s].push_back((b * 16 + s) * block + i);
    const std::uint64_t rest = share - blocks * block;
    for (std::uint64_t i = 0; i < rest; ++i)
      stripes[s].push_back(16 * blocks * block + s * rest + i);
  }
  constexpr std::uint64_t kReversed[]{0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15};
  const std::uint64_t before = number * records;
  for (std::uint64_t i = 0; i < records % 16; ++i)
    stripes[kReversed[(before + i) % 16]].push_back(16 * share + i);
  for (std::uint64_t s = 0; s < 16; ++s) {
    const std::uint64_t stream = number * 16 + s, group = 4 * block;
    Numbers mixed;
    for (std::uint64_t first = 0; first < stripes[s].size(); first += group) {
      const auto from = stripes[s].begin() + static_cast<std::ptrdiff_t>(first);
      const auto size = std::min<std::uint64_t>(group, stripes[s].size() - first);
      const Numbers part = permuted({from, from + static_cast<std::ptrdiff_t>(size)},
                                    random_key(key, "records of a group"),
                                    stream * (share / group + 1) + first / group);
      mixed.insert(mixed.end(), part.begin(), part.end());
    }
    const auto bits = philox(random_key(key, "turns"), stream, 0);
    const std::uint64_t turn = (std::uint64_t{bits[1]} << 32 | bits[0]) % mixed.size();
    std::ranges::rotate(mixed, mixed.begin() + static_cast<std::ptrdiff_t>(turn));
    stripes[s] = mixed;
  }
  Numbers out;
  for (std::uint64_t i = 0; i < records; ++i)
    out.push_back(stripes[kReversed[(before + i) % 16]][i / 16]);
  return out;
}

TEST(RecordOrder, MatchesTheSlowReference) {
  for (const std::uint64_t block : {1, 4, 16})
    for (const std::uint64_t records : telling_sizes(block))
      for (const std::uint64_t number : {0, 1, 7})
        ASSERT_EQ(epoch(RecordOrder(records, block, 3), records, number),
                  slow_epoch(records, block, 3, number))
            << records << " in blocks of " << block;
}

TEST(RecordOrder, PositionsUseOnlyBlocksOfTheirStripe) {
  constexpr std::uint64_t kBlock = 16, kRecords = 151 * kBlock + 9;
  constexpr std::uint64_t kStriped = 151 / 16 * 16 * kBlock;
  const RecordOrder order(kRecords, kBlock, 1);
  std::vector<std::set<std::uint64_t>> shared(kStripes);  // records after the stripes' blocks
  for (std::uint64_t position = 0; position < 5 * kRecords; ++position) {
    const std::uint64_t record = order(position), stripe = RecordOrder::stripe(position);
    if (record < kStriped)
      ASSERT_EQ(record / kBlock % kStripes, stripe) << position;
    else if (record < kRecords / kStripes * kStripes)
      shared[stripe].insert(record);
  }
  for (const auto& records : shared) {
    EXPECT_EQ(records.size(), kRecords / kStripes - kStriped / kStripes);
    EXPECT_EQ(*records.rbegin() - *records.begin() + 1, records.size()) << "not neighbours";
  }
}

// Reading is cheap because at any time only a few blocks of a stripe are in use.
TEST(RecordOrder, ConsecutivePositionsNeedFewBlocks) {
  constexpr std::uint64_t kBlock = 64, kRecords = 5 * kMixedBlocks * kBlock;
  const Numbers all = epoch(RecordOrder(kRecords, kBlock, 1), kRecords, 0);
  for (std::uint64_t first = 0; first + kMixedBlocks * kBlock <= kRecords; first += 1000) {
    std::set<std::uint64_t> blocks, soon;
    for (std::uint64_t i = first; i < first + kMixedBlocks * kBlock; ++i) {
      blocks.insert(all[i] / kBlock);
      if (i < first + 8 * kMixedBlocks) soon.insert(all[i] / kBlock);
    }
    EXPECT_LE(blocks.size(), 2 * kMixedBlocks) << "a group's and the next one's";
    EXPECT_GT(*blocks.rbegin() - *blocks.begin(), 2 * kMixedBlocks) << "they are from everywhere";
    EXPECT_GT(soon.size(), kMixedBlocks * 9 / 10) << "a few records meet nearly all of them";
  }
}

double correlation(const Numbers& a, const Numbers& b) {
  const auto mean = [](const Numbers& x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  };
  const double mean_a = mean(a), mean_b = mean(b);
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]) - mean_a, y = static_cast<double>(b[i]) - mean_b;
    ab += x * y, aa += x * x, bb += y * y;
  }
  return ab / std::sqrt(aa * bb);
}

TEST(RecordOrder, NeighboursPositionsAndEpochsAreNotCorrelated) {
  constexpr std::uint64_t kRecords = 40000;
  for (const std::uint64_t block : {16, 1024})  // in stripes, and all at once
    for (const std::uint64_t key : {1, 2, 3}) {
      // Four standard deviations. A stripe's records move with their block.
      const double most = 4 / std::sqrt(kRecords / (block == 16 ? 16.0 : 1.0));
      const RecordOrder order(kRecords, block, key);
      const Numbers first = epoch(order, kRecords, 0), second = epoch(order, kRecords, 1);
      EXPECT_LT(std::abs(correlation(first, second)), most);
      EXPECT_LT(std::abs(correlation(first, up_to(kRecords))), most);
      for (std::uint64_t lag = 1; lag < kStripes; ++lag)
        EXPECT_LT(std::abs(correlation(drawn(order, 0, kRecords), drawn(order, lag, kRecords))),
                  most + static_cast<double>(lag) / kRecords)
            << lag;
    }
}

TEST(RecordOrder, RecordsAreUniformlyDistributedOverTheirStripe) {
  constexpr std::uint64_t kRecords = 80 * 4 + 5, kEpochs = 2000, kParts = 5;
  const RecordOrder order(kRecords, 4, 9);
  std::map<std::uint64_t, std::vector<double>> counts;
  for (const std::uint64_t record : {0, 7, 160, 319, 320, 324}) counts[record].resize(kParts);
  std::vector<double> expected(kParts);
  for (std::uint64_t number = 0; number < kEpochs; ++number) {
    const Numbers all = epoch(order, kRecords, number);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const std::uint64_t of_stripe = kRecords / 16 + (i % 16 < kRecords % 16 ? 1 : 0);
      const std::uint64_t part = i / 16 * kParts / of_stripe;
      expected[part] += 1.0 / kRecords;
      if (const auto found = counts.find(all[i]); found != counts.end()) ++found->second[part];
    }
  }
  for (const auto& [record, times] : counts) {
    double chi_square = 0;
    for (std::uint64_t part = 0; part < kParts; ++part)
      chi_square += std::pow(times[part] - expected[part], 2) / expected[part];
    EXPECT_LT(chi_square, 18.5) << "record " << record;  // one in a thousand, 4 degrees of freedom
  }
}

TEST(RecordOrder, DependsOnTheKey) {
  for (const std::uint64_t block : {4, 64}) {
    EXPECT_NE(epoch(RecordOrder(1000, block, 1), 1000, 0),
              epoch(RecordOrder(1000, block, 2), 1000, 0));
    EXPECT_EQ(epoch(RecordOrder(1000, block, 1), 1000, 7),
              epoch(RecordOrder(1000, block, 1), 1000, 7));
  }
}

TEST(PositionsOfRows, AreSortedByStripe) {
  for (const std::uint64_t batch : {1, 2, 8, 16, 24, 31, 48, 256})
    for (const std::uint64_t step : {0, 1, 5}) {
      Numbers wanted = up_to(batch);
      for (std::uint64_t& position : wanted) position += step * batch;
      std::ranges::stable_sort(wanted, {}, RecordOrder::stripe);
      EXPECT_EQ(positions_of_rows(step, batch, 0, batch), wanted);
      for (const std::uint64_t begin : {std::uint64_t{0}, batch / 3})
        EXPECT_EQ(positions_of_rows(step, batch, begin, batch / 2),
                  Numbers(wanted.begin() + static_cast<std::ptrdiff_t>(begin),
                          wanted.begin() + static_cast<std::ptrdiff_t>(batch / 2)));
    }
}

TEST(PositionsOfRows, EachHostUsesOnlyItsOwnStripes) {
  for (const std::uint64_t hosts : {2, 4, 8, 16})
    for (const std::uint64_t rows : {1, 2, 3, 5, 16})
      for (std::uint64_t step = 0; step < 20; ++step)
        for (std::uint64_t host = 0; host < hosts; ++host)
          for (const std::uint64_t position :
               positions_of_rows(step, rows * hosts, host * rows, (host + 1) * rows))
            ASSERT_EQ(RecordOrder::stripe(position) * hosts / kStripes, host)
                << step << " of " << hosts << " times " << rows;
}

// A release that changed the order would change what resumed runs train on.
TEST(RecordOrder, MatchesTheGoldenOrder) {
  const std::string path = source_path("tests/golden/record_order.json");
  OrderedJson made = OrderedJson::array();
  for (const auto& [records, block] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1024},
                                                            {5, 1},
                                                            {16, 4},
                                                            {1000, 16},
                                                            {1024, 16},
                                                            {1025, 16},
                                                            {4099, 16},
                                                            {70000, 1024},
                                                            {300001, 1024},
                                                            {99, 1}})
    for (const std::uint64_t key : {1, 12345}) {
      const RecordOrder order(records, block, key);
      const Numbers all = drawn(order, 0, 2 * records);
      made.push_back({{"records", records},
                      {"block", block},
                      {"key", key},
                      {"first", drawn(order, 0, 20)},
                      {"epoch_1000", drawn(order, 1000 * records, 8)},
                      {"crc32c", io::crc32c({reinterpret_cast<const char*>(all.data()),
                                             all.size() * sizeof all[0]})}});
    }
  std::string text;
  for (const auto& one : made) text += str(text.empty() ? "[" : ",\n ", one.dump());
  text += "]\n";
  if (std::getenv("SMELT_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  ASSERT_TRUE(io::exists(path)) << path << " is missing; make it with SMELT_UPDATE_GOLDEN=1";
  EXPECT_EQ(made, OrderedJson::parse(io::read_file(path)));
}

TEST(PositionsOfRows, MatchTheGoldenPositions) {
  EXPECT_THAT(positions_of_rows(0, 16, 0, 16),
              ElementsAre(0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15));
  EXPECT_THAT(positions_of_rows(3, 8, 0, 8), ElementsAre(24, 28, 26, 30, 25, 29, 27, 31));
  EXPECT_THAT(positions_of_rows(1, 24, 12, 24),
              ElementsAre(33, 25, 41, 37, 29, 45, 35, 27, 43, 39, 31, 47));
}

}  // namespace
}  // namespace smelt::data
