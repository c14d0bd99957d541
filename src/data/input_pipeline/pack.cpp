#include "data/input_pipeline/pack.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

#include "base/error.h"
#include "data/input_pipeline/prefetch.h"
#include "io/formats/crc32c.h"
#include "io/formats/packing_features.h"

namespace smelt::data {
namespace {

constexpr std::uint64_t kSampledBatches = 32;

// Returns the index of the sequence at place `n` of a shard within the whole batch.
std::int64_t place_in_batch(const PackingPlan& plan, std::int64_t shard, std::int64_t n) {
  const std::int64_t device = shard / plan.micro_batches, part = shard % plan.micro_batches;
  return device * (plan.batch_size / plan.devices) + part + plan.micro_batches * n;
}

// Deals sequences, longest first, each to the shard with the fewest tokens that is not full.
// Returns the sequences of each shard, longest first.
std::vector<std::vector<std::int64_t>> deal(const std::vector<std::int64_t>& lengths,
                                            const PackingPlan& plan) {
  std::vector<std::int64_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::int64_t i) { return lengths[static_cast<std::size_t>(i)]; });
  using TokensAndShard = std::pair<std::int64_t, std::int64_t>;
  std::priority_queue<TokensAndShard, std::vector<TokensAndShard>, std::greater<>> emptiest;
  for (std::int64_t shard = 0; shard < plan.shards(); ++shard) emptiest.emplace(0, shard);
  std::vector<std::vector<std::int64_t>> out(static_cast<std::size_t>(plan.shards()));
  for (const std::int64_t i : order) {
    const auto [tokens, shard] = emptiest.top();
    emptiest.pop();
    auto& own = out[static_cast<std::size_t>(shard)];
    own.push_back(i);
    if (std::ssize(own) < plan.shard_size())
      emptiest.emplace(tokens + lengths[static_cast<std::size_t>(i)], shard);
  }
  return out;
}

// Rows of `length` slots that are filled by best fit.
class RowFiller {
 public:
  explicit RowFiller(std::int64_t length) : length_(length) {}

  // Places a sequence and returns the slot of its first token, counted over all rows.
  std::int64_t place(std::int64_t tokens) {
    auto found = by_room_.lower_bound(tokens);
    if (found == by_room_.end()) found = by_room_.emplace(length_, count_++);
    const auto [room, row] = *found;
    by_room_.erase(found);
    by_room_.emplace(room - tokens, row);
    return row * length_ + length_ - room;
  }
  std::int64_t count() const { return count_; }

 private:
  std::int64_t length_, count_ = 0;
  std::multimap<std::int64_t, std::int64_t> by_room_;  // free slots of a row -> row
};

// Returns the batch with its rows in another order.
Batch reordered(const Batch& batch, const std::vector<std::int64_t>& order) {
  Batch out{.rows = batch.rows, .arrays = {}};
  for (const HostArray& array : batch.arrays) {
    HostArray& to = out.arrays.emplace_back(HostArray{array.shape, {}});
    const std::size_t size = array.bytes.size() / order.size();
    to.bytes.reserve(array.bytes.size());
    for (const std::int64_t row : order) {
      const auto begin = array.bytes.begin() + row * static_cast<std::ptrdiff_t>(size);
      to.bytes.insert(to.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    }
  }
  return out;
}

// Writes the slots of the sequence at place `n` of a shard, which begin at `start`, to the array
// packed_tokens.
void fill_slots(std::span<std::int32_t> tokens, const PackingPlan& plan, std::int64_t shard,
                std::int64_t n, std::int64_t start, std::int64_t count) {
  const std::int64_t W = plan.slots();
  for (std::int64_t position = 0; position < count; ++position) {
    const std::int64_t slot = start + position;
    const std::int64_t row = place_in_batch(plan, shard, slot / W);
    tokens[static_cast<std::size_t>(row * W + slot % W)] =
        static_cast<std::int32_t>(n * plan.length + position);
  }
}

// Returns how long the steps with `needed` rows take on average if there are `rows` rows, as a
// share of their time without packing.
double mean_time(const std::vector<std::int64_t>& needed, std::int64_t rows, std::int64_t all) {
  double sum = 0;
  for (const std::int64_t n : needed) sum += static_cast<double>(n <= rows ? rows : all);
  return sum / (static_cast<double>(needed.size()) * static_cast<double>(all));
}

// Returns a host's rows of a whole batch.
Batch part_of(const Batch& batch, HostShare share) {
  CHECK(batch.rows % share.hosts == 0, batch.rows, " rows for ", share.hosts, " hosts");
  const std::int64_t rows = batch.rows / share.hosts;
  return rows_of(batch, share.host * rows, (share.host + 1) * rows);
}

std::uint32_t crc_of(const std::vector<std::int64_t>& lengths, std::uint32_t seed) {
  return io::crc32c(
      {reinterpret_cast<const char*>(lengths.data()), lengths.size() * sizeof(std::int64_t)}, seed);
}

}  // namespace

std::optional<std::vector<std::int64_t>> sequence_lengths(const HostArray& tokens) {
  const std::int64_t rows = tokens.shape.dims[0], length = tokens.shape.dims[1];
  const auto values = tokens.values<std::int32_t>();
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto row =
        values.subspan(static_cast<std::size_t>(i * length), static_cast<std::size_t>(length));
    const auto end = std::ranges::find(row, 0);
    if (end == row.begin()) return {};
    if (std::any_of(end, row.end(), [](std::int32_t token) { return token != 0; })) return {};
    out.push_back(end - row.begin());
  }
  return out;
}

PackedPlaces pack_sequences(const std::vector<std::int64_t>& lengths, const PackingPlan& plan) {
  PackedPlaces out{.order = std::vector<std::int64_t>(lengths.size()),
                   .starts = std::vector<std::int64_t>(lengths.size())};
  const auto shards = deal(lengths, plan);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    RowFiller rows(plan.length);
    for (std::size_t n = 0; n < shards[shard].size(); ++n) {
      const std::int64_t sequence = shards[shard][n];
      const auto place = static_cast<std::size_t>(
          place_in_batch(plan, static_cast<std::int64_t>(shard), static_cast<std::int64_t>(n)));
      out.order[place] = sequence;
      out.starts[place] = rows.place(lengths[static_cast<std::size_t>(sequence)]);
    }
    out.rows = std::max(out.rows, rows.count());
  }
  return out;
}

std::optional<Batch> pack(const Batch& batch, const io::Features& features,
                          const PackingPlan& plan) {
  CHECK(batch.rows == plan.batch_size, batch.rows, " of ", plan.batch_size);
  const auto lengths = sequence_lengths(batch.arrays[find_feature(features, plan.tokens)]);
  if (!lengths) return {};
  const PackedPlaces places = pack_sequences(*lengths, plan);
  if (places.rows > plan.rows) return {};
  Batch out = reordered(batch, places.order);
  Batch added = empty_batch(io::packing_features(plan.slots()), batch.rows);
  const auto tokens = added.arrays[0].values<std::int32_t>();
  const auto starts = added.arrays[1].values<std::int32_t>();
  const auto rows = added.arrays[2].values<std::int32_t>();
  std::ranges::fill(tokens, -1);
  for (std::int64_t shard = 0; shard < plan.shards(); ++shard)
    for (std::int64_t n = 0; n < plan.shard_size(); ++n) {
      const auto place = static_cast<std::size_t>(place_in_batch(plan, shard, n));
      const std::int64_t sequence = places.order[place];
      starts[place] = static_cast<std::int32_t>(places.starts[place]);
      rows[place] = static_cast<std::int32_t>(sequence);
      fill_slots(tokens, plan, shard, n, places.starts[place],
                 (*lengths)[static_cast<std::size_t>(sequence)]);
    }
  for (HostArray& array : added.arrays) out.arrays.push_back(std::move(array));
  return out;
}

PackingPlan with_best_rows(PackingPlan plan, const std::vector<std::int64_t>& needed) {
  const std::int64_t all = plan.shard_size();
  plan.rows = all;
  plan.time = 1;
  for (std::int64_t rows = 1; rows < all; ++rows)
    if (const double time = mean_time(needed, rows, all); time < plan.time) {
      plan.rows = rows;
      plan.time = time;
    }
  const auto fits = [&](std::int64_t rows) { return rows <= plan.rows; };
  plan.fitting =
      static_cast<double>(std::ranges::count_if(needed, fits)) / static_cast<double>(needed.size());
  return plan;
}

PackingPlan choose_rows(const ExampleSource& source, PackingPlan plan) {
  const std::size_t tokens = find_feature(source.features(), plan.tokens);
  std::vector<std::int64_t> needed;
  std::uint32_t crc = 0;
  Prefetch batches(source, plan.batch_size, 0);
  for (std::uint64_t step = 0; step < kSampledBatches; ++step) {
    const Batch batch = batches.next();
    const auto lengths = sequence_lengths(batch.arrays[tokens]);
    needed.push_back(lengths ? pack_sequences(*lengths, plan).rows : plan.shard_size());
    if (lengths) crc = crc_of(*lengths, crc);
  }
  plan = with_best_rows(std::move(plan), needed);
  plan.lengths_crc = crc;
  return plan;
}

Batch packed_part(const Batch& whole, const io::Features& features, const PackingPlan& plan,
                  HostShare share) {
  Batch out = part_of(whole, share);
  if (const auto packed = pack(whole, features, plan))
    out.packed = std::make_shared<const Batch>(part_of(*packed, share));
  return out;
}

}  // namespace smelt::data
