// Sorts, encodes and writes ranges of examples.
#include <algorithm>
#include <atomic>

#include "base/error.h"
#include "data/preprocess/example_shuffle.h"
#include "data/preprocess/shard_writer.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

constexpr std::size_t kUploadBytes = 24 << 20;  // part size of an upload to an object store
constexpr std::uint64_t kMostWriters = 1024;
constexpr int kMostUploads = 8;  // concurrent uploads
// With many small files, most of the time is spent waiting for each one to be on disk.
constexpr std::size_t kManyShards = 64;
constexpr std::uint64_t kSmallShard = 1 << 20;  // size in temporary files

// The examples of one key range, sorted.
class SortedRange {
 public:
  SortedRange(const ExternalShuffle& spill, const SpillRange& range) {
    items_.reserve(range.records);
    spill.read(range, [&](std::string chunk) { chunks_.push_back(std::move(chunk)); });
    for (const std::string& chunk : chunks_)
      for (std::string_view rest = spill_records(chunk); !rest.empty();)
        items_.push_back(take_record(rest));
    // Records with equal keys, which are extremely rare, are sorted by their bytes, so that the
    // order does not depend on the number of threads.
    std::ranges::sort(items_, [](const SpillRecord& x, const SpillRecord& y) {
      return x.key != y.key ? x.key < y.key : x.bytes < y.bytes;
    });
  }

  const std::vector<SpillRecord>& records() const { return items_; }
  static std::uint64_t bytes(const SpillRange& range) {
    return range.bytes + range.records * sizeof(SpillRecord);
  }

 private:
  std::vector<std::string> chunks_;
  std::vector<SpillRecord> items_;
};

// A range to write, and its place in its shard.
struct Turn {
  Shard& shard;
  std::size_t number;  // index within the shard's ranges
  const SpillRange& range;
};

// Sorts, encodes and writes the examples of a range. Returns false if another thread has failed.
bool write_range(const ExternalShuffle& spill, const Turn& turn, ExampleEncoder& encoder,
                 std::size_t encoded_bytes) {
  const SortedRange sorted(spill, turn.range);
  EncodedExamples encoded;
  encoded.bytes.reserve(encoded_bytes + encoded_bytes / 16);
  bool first = true;
  const auto write = [&] {
    if (first && !turn.shard.wait(turn.number)) return false;
    first = false;
    turn.shard.write(encoded);
    encoded.clear();
    return true;
  };
  for (const SpillRecord& record : sorted.records()) {
    const std::size_t begin = encoded.bytes.size();
    const std::uint64_t tokens = encoder.encode(record.bytes, encoded.bytes);
    encoded.index.add(std::string_view(encoded.bytes).substr(begin), tokens);
    if (encoded.bytes.size() >= encoded_bytes && !write()) return false;
  }
  if (!write()) return false;
  turn.shard.leave(turn.number);
  return true;
}

// Returns the index of each shard's first range, followed by the number of ranges.
std::vector<std::size_t> first_range_of_shards(const std::vector<SpillRange>& ranges,
                                               std::size_t shards) {
  std::vector<std::size_t> first;
  for (const std::uint64_t key : cut_keys(0, kLastKey, shards))
    first.push_back(static_cast<std::size_t>(
        std::ranges::lower_bound(ranges, key, {}, &SpillRange::first_key) - ranges.begin()));
  first.push_back(ranges.size());
  return first;
}

}  // namespace

std::string seal_path(const std::string& folder, std::size_t shard) {
  return str(folder, "/shard-", shard, ".json");
}

int most_writers(const ExternalShuffle& spill, bool remote, const ShuffleOptions& options) {
  const ShuffleSizes& sizes = options.sizes;
  std::uint64_t largest = 0;
  for (const SpillRange& range : spill.ranges())
    largest = std::max(largest, SortedRange::bytes(range));
  const std::uint64_t each =
      largest + sizes.encoded_bytes + sizes.encoded_bytes / 16 + (remote ? kUploadBytes : 0);
  const std::uint64_t left = options.memory - std::min(options.memory, sizes.least_memory / 2);
  return static_cast<int>(std::clamp<std::uint64_t>(left / each, 1, kMostWriters));
}

void write_shards(const ShuffledExamples& examples, const ExampleBuilder& builder,
                  const ExampleFiles& files, const std::vector<bool>& made,
                  const ShuffleOptions& options) {
  const std::vector<SpillRange>& ranges = examples.spill.ranges();
  const std::size_t count = files.outputs.size();
  const std::vector<std::size_t> first = first_range_of_shards(ranges, count);
  std::deque<Shard> shards;
  std::vector<std::size_t> ranges_of_each;
  for (std::size_t i = 0; i < count; ++i) {
    ranges_of_each.push_back(first[i + 1] - first[i]);
    shards.emplace_back(Shard::Paths{.records = files.outputs[i],
                                     .seal = seal_path(options.folder, i),
                                     .index = files.indexes,
                                     .before = [&] { remove_old_description(files); }},
                        ranges_of_each.back(), made[i]);
  }
  const bool remote = io::is_remote(files.outputs.front());
  const int most = most_writers(examples.spill, remote, options);
  const bool waits =
      remote || (count >= kManyShards && examples.spill.bytes() / count < kSmallShard);
  const int lanes = waits ? std::min({most, kMostUploads, static_cast<int>(count)}) : 1;
  const auto order = writing_order(ranges_of_each, static_cast<std::size_t>(lanes));
  Progress progress("writing", static_cast<std::int64_t>(examples.examples), "examples");
  std::mutex mutex;
  std::int64_t done = 0;
  std::atomic<std::size_t> next = 0;
  const auto work = [&](int) {
    const auto encoder = builder.encoder();
    for (std::size_t place; (place = next++) < order.size();) {
      const auto [shard, number] = order[place];
      const Turn turn{shards[shard], number, ranges[first[shard] + number]};
      if (!turn.shard.is_made() &&
          !write_range(examples.spill, turn, *encoder, options.sizes.encoded_bytes))
        return;
      const std::lock_guard lock(mutex);
      progress.update(done += static_cast<std::int64_t>(turn.range.records));
    }
  };
  run_parallel(std::max(lanes, std::min(options.threads, most)), work, [&] {
    for (Shard& shard : shards) shard.stop();
  });
}

}  // namespace smelt::data
