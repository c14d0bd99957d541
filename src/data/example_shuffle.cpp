#include "data/example_shuffle.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/error.h"
#include "base/parallel.h"
#include "base/progress.h"
#include "data/example_encoder.h"
#include "data/example_record.h"
#include "data/record_index_file.h"
#include "store/file.h"
#include "store/folder.h"

namespace smelt {
namespace {

constexpr std::uint64_t kRangeBytes = 16 << 20;   // of a range of keys, read and sorted at once
constexpr std::size_t kEncodedBytes = 16 << 20;   // encoded before a thread waits for its turn to write
constexpr std::size_t kUnitDocuments = 64;

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
  const std::uint64_t most = options.memory / 4 / (4096 * static_cast<std::uint64_t>(options.threads));
  const std::uint64_t of_a_shard = std::max<std::uint64_t>(1, std::min(wanted, most) / options.shards);
  return of_a_shard * options.shards;
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

// Encoded examples that follow one another, and their index.
struct EncodedExamples {
  std::string bytes;
  RecordIndexBuilder index;

  void clear() {
    bytes.clear();
    index.clear();
  }
};

// The shards' files and indexes, written by the threads in turn.
class ShardWriter {
 public:
  ShardWriter(const std::vector<std::string>& paths, std::size_t ranges, std::uint64_t examples)
      : paths_(paths),
        per_shard_(ranges / paths.size()),
        progress_("examples", static_cast<std::int64_t>(examples), "examples") {
    for (const std::string& path : paths) whole_.push_back(exists(path));
  }

  bool is_whole(std::size_t range) const { return whole_[range / per_shard_]; }
  bool wait(std::size_t range) { return turns_.wait(range); }
  void write(std::size_t range, const EncodedExamples& examples) {
    if (!file_) file_ = std::make_unique<OutputFile>(paths_[range / per_shard_]);
    file_->write(examples.bytes);
    index_.append(examples.index);
  }
  void leave(std::size_t range, std::size_t examples) {
    if ((range + 1) % per_shard_ == 0 && !is_whole(range)) {
      index_.write(paths_[range / per_shard_]);  // first: a whole file is one that is finished
      index_.clear();
      file_->commit();
      file_.reset();
    }
    done_ += static_cast<std::int64_t>(examples);
    progress_.update(done_);
    turns_.leave(range);
  }
  void stop() { turns_.stop(); }

 private:
  const std::vector<std::string>& paths_;
  std::size_t per_shard_;
  std::vector<bool> whole_;
  Turnstile turns_;
  std::unique_ptr<OutputFile> file_;
  RecordIndexBuilder index_;
  std::int64_t done_ = 0;
  Progress progress_;
};

void write_range(const Spill& spill, std::size_t range, ExampleRecords& records,
                 ExampleEncoder& encoder, ShardWriter& writer) {
  const SortedRange sorted(spill, range, records.codec());
  EncodedExamples encoded;
  bool turn = false;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::string_view body = sorted.record(i);
    const auto head = take_value<ExampleHead>(body);
    const std::size_t begin = encoded.bytes.size();
    const MaskedPair pair = records.take(head, body);
    encoder.append(pair, encoded.bytes);
    encoded.index.add(std::string_view(encoded.bytes).substr(begin), pair.tokens());
    if (encoded.bytes.size() < kEncodedBytes) continue;
    if (!turn && !(turn = writer.wait(range))) return;
    writer.write(range, encoded);
    encoded.clear();
  }
  if (!turn && !writer.wait(range)) return;
  writer.write(range, encoded);
  writer.leave(range, sorted.size());
}

}  // namespace

ShuffledExamples scatter_examples(const DocumentBuckets& documents, const MaskVocabulary& vocabulary,
                                  const PairOptions& pairs, const ShuffleOptions& options) {
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
  ShardWriter writer(shards, examples.ranges, examples.examples);
  std::atomic<std::size_t> next = 0;
  const auto work = [&](int) {
    ExampleRecords records(static_cast<std::int64_t>(vocabulary.words.size()));
    ExampleEncoder encoder(vocabulary, pairs);
    for (std::size_t range; (range = next++) < examples.ranges;) {
      if (!writer.is_whole(range))
        write_range(examples.spill, range, records, encoder, writer);
      else if (writer.wait(range))
        writer.leave(range, 0);
    }
  };
  run_parallel(options.threads, work, [&] { writer.stop(); });
}

}  // namespace smelt
