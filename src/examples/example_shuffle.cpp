#include "examples/example_shuffle.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/parallel.h"
#include "examples/example_encoder.h"
#include "examples/example_record.h"
#include "examples/shard_writer.h"
#include "store/path.h"

namespace smelt {
namespace {

constexpr std::uint64_t kRangeBytes = 16 << 20;  // of a range of keys, read and sorted at once
constexpr std::size_t kEncodedBytes = 16
                                      << 20;  // encoded before a thread waits for its turn to write
constexpr std::size_t kUnitDocuments = 64;
constexpr std::size_t kWriterBytes =
    64 << 20;  // of a thread that writes: a range, its examples encoded, parts on their way
constexpr std::size_t kBaseBytes = 128 << 20;  // of all else while files are written
constexpr int kMostUploads = 8;                // side by side

// floor(key / 2^64 * count)
std::size_t range_of(std::uint64_t key, std::size_t count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>(static_cast<Wide>(key) * count >> 64);
}

std::size_t count_ranges(const DocumentBuckets& documents, const PairOptions& pairs,
                         const IdCodec& codec, const ShuffleOptions& options) {
  const std::uint64_t tokens =
      documents.counts.tokens * static_cast<std::uint64_t>(pairs.dupe_factor);
  const std::uint64_t wanted = codec.bytes(tokens) * 3 / 2 / kRangeBytes + 1;
  // Each thread keeps a buffer of at least 4 KiB for each range.
  const std::uint64_t most =
      options.memory / 4 / (4096 * static_cast<std::uint64_t>(options.threads));
  const std::uint64_t of_a_shard =
      std::max<std::uint64_t>(1, std::min(wanted, most) / options.shards);
  return of_a_shard * options.shards;
}

// How many threads may write at once.
int writers(std::size_t memory) {
  return static_cast<int>((std::max(memory, kBaseBytes + kWriterBytes) - kBaseBytes) /
                          kWriterBytes);
}

struct DrawContext {
  const MaskVocabulary& vocabulary;
  const PairOptions& pairs;
  std::uint64_t draw_key, order_key;
  std::size_t ranges;
};

// One thread's part in the drawing.
class ExampleScatterer {
 public:
  ExampleScatterer(const DrawContext& context, std::string path, std::size_t memory)
      : context_(context),
        records_(static_cast<std::int64_t>(context.vocabulary.words.size())),
        writer_(std::move(path), context.ranges, memory) {}

  // One pass over the documents [first, last) of a group.
  void draw(const DocumentGroup& group, std::size_t first, std::size_t last, std::uint64_t pass) {
    PairDrawer<StreamRandom> drawer(group.corpus, context_.vocabulary, context_.pairs);
    for (std::size_t document = first; document < last; ++document) {
      const std::uint64_t number = group.numbers[document];
      StreamRandom random(context_.draw_key, number, pass);
      list_.clear();
      drawer.draw(document, random, list_);
      for (std::size_t i = 0; i < list_.pairs.size(); ++i) {
        const auto bits = philox(context_.order_key, number, pass << 32 | i);
        put(std::uint64_t{bits[1]} << 32 | bits[0], list_.view(group.corpus, list_.pairs[i]));
      }
      examples += list_.pairs.size();
      masked_tokens += list_.masks.size();
    }
  }
  std::vector<SpillChunk> finish() { return writer_.finish(); }

  std::uint64_t examples = 0, masked_tokens = 0;

 private:
  void put(std::uint64_t key, const MaskedPair& pair) {
    record_.clear();
    records_.put(key, pair, record_);
    writer_.append(range_of(key, context_.ranges), record_);
  }

  const DrawContext& context_;
  ExampleRecords records_;
  SpillWriter writer_;
  PairList list_;
  std::string record_;
};

// All passes over a group, on all threads.
void draw_group(const DocumentGroup& group, std::uint64_t passes,
                std::vector<std::unique_ptr<ExampleScatterer>>& scatterers) {
  const std::size_t documents = group.numbers.size();
  const std::size_t units = (documents + kUnitDocuments - 1) / kUnitDocuments;
  std::atomic<std::size_t> next = 0;
  run_parallel(static_cast<int>(scatterers.size()), [&](int worker) {
    for (std::size_t unit; (unit = next++) < units * passes;) {
      const std::size_t first = unit / passes * kUnitDocuments;
      const std::size_t last = std::min(documents, first + kUnitDocuments);
      scatterers[static_cast<std::size_t>(worker)]->draw(group, first, last, unit % passes);
    }
  });
}

// The examples of one range of keys in their order.
class SortedRange {
 public:
  SortedRange(const Spill& spill, std::size_t range, const IdCodec& codec)
      : chunks_(spill.read(range, range + 1)) {
    for (std::string_view rest : chunks_)
      while (!rest.empty()) {
        const std::string_view whole = rest;
        const auto head = take_value<ExampleHead>(rest);
        rest.remove_prefix(head.body_bytes(codec));
        items_.push_back({head.key, whole.substr(0, whole.size() - rest.size())});
      }
    // Equal keys are all but impossible; their bytes then decide, not the thread that was first.
    std::ranges::sort(items_, [](const Item& x, const Item& y) {
      return x.key != y.key ? x.key < y.key : x.record < y.record;
    });
  }

  std::size_t size() const { return items_.size(); }
  std::string_view record(std::size_t i) const { return items_[i].record; }

 private:
  struct Item {
    std::uint64_t key;
    std::string_view record;
  };
  std::vector<std::string> chunks_;
  std::vector<Item> items_;
};

// How many examples were written; nothing when another thread has failed.
std::optional<std::size_t> write_range(const Spill& spill, const ShardWriter::Turn& turn,
                                       ExampleRecords& records, ExampleEncoder& encoder) {
  const SortedRange sorted(spill, turn.range, records.codec());
  EncodedExamples encoded;
  encoded.bytes.reserve(kEncodedBytes + kEncodedBytes / 16);
  bool first = true;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::string_view body = sorted.record(i);
    const auto head = take_value<ExampleHead>(body);
    const std::size_t begin = encoded.bytes.size();
    const MaskedPair pair = records.take(head, body);
    encoder.append(pair, encoded.bytes);
    encoded.index.add(std::string_view(encoded.bytes).substr(begin), pair.tokens());
    if (encoded.bytes.size() < kEncodedBytes) continue;
    if (first && !turn.shard->wait(turn.range_of_shard)) return std::nullopt;
    first = false;
    turn.shard->write(encoded);
    encoded.clear();
  }
  if (first && !turn.shard->wait(turn.range_of_shard)) return std::nullopt;
  turn.shard->write(encoded);
  turn.shard->leave(turn.range_of_shard);
  return sorted.size();
}

}  // namespace

ShuffledExamples scatter_examples(const DocumentBuckets& documents,
                                  const MaskVocabulary& vocabulary, const PairOptions& pairs,
                                  const ShuffleOptions& options) {
  const IdCodec codec(static_cast<std::int64_t>(vocabulary.words.size()));
  const DrawContext context{.vocabulary = vocabulary,
                            .pairs = pairs,
                            .draw_key = random_key(options.seed, "draws"),
                            .order_key = random_key(options.seed, "order of examples"),
                            .ranges = count_ranges(documents, pairs, codec, options)};
  const auto threads = static_cast<std::size_t>(options.threads);
  std::vector<std::string> files;
  std::vector<std::unique_ptr<ExampleScatterer>> scatterers;
  for (std::size_t worker = 0; worker < threads; ++worker) {
    files.push_back(str(options.folder, "/examples-", worker));
    scatterers.push_back(
        std::make_unique<ExampleScatterer>(context, files.back(), options.memory / 4 / threads));
  }
  const std::uint64_t groups = std::clamp<std::uint64_t>(
      (documents.counts.tokens + kGroupTokens - 1) / kGroupTokens, 1, kDocumentBuckets);
  for (std::uint64_t group = 0; group < groups; ++group)
    draw_group(gather_documents(documents.spill, group * kDocumentBuckets / groups,
                                (group + 1) * kDocumentBuckets / groups, codec),
               static_cast<std::uint64_t>(pairs.dupe_factor), scatterers);
  ShuffledExamples out;
  out.ranges = context.ranges;
  std::vector<std::vector<SpillChunk>> chunks;
  for (const auto& scatterer : scatterers) {
    chunks.push_back(scatterer->finish());
    out.examples += scatterer->examples;
    out.masked_tokens += scatterer->masked_tokens;
  }
  out.spill = Spill(files, chunks);
  return out;
}

void write_shards(const ShuffledExamples& examples, const MaskVocabulary& vocabulary,
                  const PairOptions& pairs, const ShuffleOptions& options,
                  const std::vector<std::string>& shards) {
  const int most = writers(options.memory);
  const int lanes = is_remote(shards.front())
                        ? std::min({most, kMostUploads, static_cast<int>(shards.size())})
                        : 1;
  ShardWriter writer(shards, examples.ranges / shards.size(), static_cast<std::size_t>(lanes),
                     examples.examples);
  std::atomic<std::size_t> next = 0;
  const auto work = [&](int) {
    ExampleRecords records(static_cast<std::int64_t>(vocabulary.words.size()));
    ExampleEncoder encoder(vocabulary, pairs);
    for (std::size_t place; (place = next++) < examples.ranges;) {
      const ShardWriter::Turn turn = writer.at(place);
      if (turn.shard->is_whole()) continue;
      const auto written = write_range(examples.spill, turn, records, encoder);
      if (!written) return;
      writer.count(*written);
    }
  };
  run_parallel(std::max(lanes, std::min(options.threads, most)), work, [&] { writer.stop(); });
}

}  // namespace smelt
