#include "data/preprocess/example_shuffle.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/philox.h"
#include "base/progress.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::data {
namespace {

constexpr std::size_t kUnitDocuments = 64;

// Returns the number of ranges per shard that the examples are first distributed over.
std::size_t first_ranges(const ScatteredDocuments& documents, const ExampleBuilder& builder,
                         std::size_t shards, const ShuffleOptions& options) {
  const std::uint64_t guess = documents.spill.bytes() * builder.passes() * 3 / 2;
  const std::uint64_t wanted = guess / options.sizes.range_bytes / shards + 1;
  return std::clamp<std::uint64_t>(options.buffers() / options.sizes.least_chunk / shards, 1,
                                   wanted);
}

std::vector<std::uint64_t> shard_cuts(std::size_t shards, std::size_t ranges_of_each) {
  const std::vector<std::uint64_t> begins = cut_keys(0, kLastKey, shards);
  std::vector<std::uint64_t> cuts;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint64_t last = i + 1 < begins.size() ? begins[i + 1] - 1 : kLastKey;
    std::ranges::copy(cut_keys(begins[i], last, ranges_of_each), std::back_inserter(cuts));
  }
  return cuts;
}

// Draws all passes over all groups on all threads and writes the examples.
class Drawing {
 public:
  Drawing(const ScatteredDocuments& documents, const ExampleBuilder& builder, SpillWriter& writer,
          const ShuffleOptions& options)
      : builder_(builder),
        writer_(writer),
        draw_key_(random_key(options.seed, "draws")),
        order_key_(random_key(options.seed, "order of examples")),
        parts_(static_cast<std::size_t>(options.threads)),
        progress_("drawing", static_cast<std::int64_t>(documents.counts.documents), "documents") {}

  // Sets the counts of an interrupted run, to resume from them.
  void go_on(std::uint64_t documents, std::uint64_t examples, const ExampleCounts& counts) {
    parts_.front() = {.examples = examples, .counts = counts};
    done_ = static_cast<std::int64_t>(documents);
  }

  void draw(const DocumentGroup& group) {
    const std::size_t documents = group.numbers.size();
    const std::size_t units = (documents + kUnitDocuments - 1) / kUnitDocuments;
    const auto passes = static_cast<std::size_t>(builder_.passes());
    std::atomic<std::size_t> next = 0;
    run_parallel(
        static_cast<int>(parts_.size()),
        [&](int worker) {
          Part& part = parts_[static_cast<std::size_t>(worker)];
          const auto drawer = builder_.drawer(group, part.counts);
          for (std::size_t unit; (unit = next++) < units * passes;) {
            const std::size_t first = unit / passes * kUnitDocuments;
            const std::size_t last = std::min(documents, first + kUnitDocuments);
            for (std::size_t document = first; document < last; ++document)
              draw(*drawer, document, group.numbers[document], unit % passes, part);
            if (unit % passes + 1 == passes) report(last - first);
          }
        },
        [&] { next = units * passes; });
  }

  std::uint64_t examples() const {
    std::uint64_t sum = 0;
    for (const Part& part : parts_) sum += part.examples;
    return sum;
  }
  ExampleCounts counts() const {
    ExampleCounts sum;
    for (const Part& part : parts_) {
      sum.resize(std::max(sum.size(), part.counts.size()));
      for (std::size_t i = 0; i < part.counts.size(); ++i) sum[i] += part.counts[i];
    }
    return sum;
  }

 private:
  struct Part {  // for one thread
    std::uint64_t examples = 0;
    ExampleCounts counts;
  };

  void draw(ExampleDrawer& drawer, std::size_t document, std::uint64_t number, std::uint64_t pass,
            Part& part) {
    StreamRandom random(draw_key_, number, pass);
    std::uint64_t place = 0;
    drawer.draw(document, pass, random, [&](std::string_view example) {
      const auto bits = philox(order_key_, number, pass << 32 | place++);
      writer_.append(std::uint64_t{bits[1]} << 32 | bits[0], example);
    });
    part.examples += place;
  }

  void report(std::size_t documents) {
    const std::lock_guard lock(mutex_);
    progress_.update(done_ += static_cast<std::int64_t>(documents));
  }

  const ExampleBuilder& builder_;
  SpillWriter& writer_;
  std::uint64_t draw_key_, order_key_;
  std::vector<Part> parts_;
  std::mutex mutex_;
  Progress progress_;
  std::int64_t done_ = 0;
};

// Saves the ranges together with the progress of drawing.
class SavedDrawing {
 public:
  SavedDrawing(const ScatteredDocuments& documents, const ShuffleOptions& options)
      : documents_(documents),
        list_(io::join_path(options.folder, kDrawingList)),
        file_(options.folder + "/examples-1"),
        groups_(group_ranges(documents.spill.ranges(), options.sizes.group_bytes)) {
    if (io::exists(list_)) spill_ = ExternalShuffle::load(list_);
    spill_.remove_others(options.folder, "examples");
  }

  const std::string& list() const { return list_; }
  ExternalShuffle take() { return std::move(spill_); }
  std::uint64_t examples() const { return spill_.note()["examples"]; }
  ExampleCounts counts() const { return spill_.note()["counts"]; }
  bool is_complete() const { return begun() && done() == groups_.size(); }

  void draw(const ExampleBuilder& builder, std::size_t shards, const ShuffleOptions& options) {
    const ShuffleSizes& sizes = options.sizes;
    if (!begun()) begin(shard_cuts(shards, first_ranges(documents_, builder, shards, options)));
    SpillFile file(file_, spill_.note()["bytes"].get<std::uint64_t>());
    const std::size_t ranges = spill_.ranges().size();
    SpillWriter writer(file, spill_.ranges(),
                       std::clamp(options.buffers() / ranges, sizes.least_chunk, sizes.most_chunk));
    Drawing drawing(documents_, builder, writer, options);
    drawing.go_on(documents_before(done()), examples(), counts());
    // Each save also writes chunks that are not full. With this many bytes between saves, most
    // chunks are full.
    const std::uint64_t often = ranges * sizes.least_chunk;
    for (std::size_t group = done(); group < groups_.size(); ++group) {
      drawing.draw(gather_documents(documents_, groups_[group]));
      const bool is_last = group + 1 == groups_.size();
      if (is_last || writer.bytes() - spill_.bytes() >= often || seconds_since(saved_) >= kSeconds)
        save(file, writer.flush(), group + 1, drawing);
    }
    file.close();
  }

 private:
  static constexpr double kSeconds = 60;

  bool begun() const { return spill_.note().is_object(); }
  std::size_t done() const { return spill_.note()["groups"]; }

  void begin(const std::vector<std::uint64_t>& first_keys) {
    SpillFile file(file_);
    SpillWriter writer(file, first_keys, 1);
    spill_ = ExternalShuffle(file_, writer.finish());
    spill_.note() = {{"groups", 0}, {"bytes", 0}, {"examples", 0}, {"counts", ExampleCounts()}};
  }

  void save(const SpillFile& file, std::vector<SpillRange> ranges, std::size_t groups,
            const Drawing& drawing) {
    spill_ = ExternalShuffle(file_, std::move(ranges));
    spill_.note() = {{"groups", groups},
                     {"bytes", file.size()},
                     {"examples", drawing.examples()},
                     {"counts", drawing.counts()}};
    spill_.save(list_);
    saved_ = Clock::now();
  }

  std::uint64_t documents_before(std::size_t group) const {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < group; ++i)
      for (std::size_t range = groups_[i].first; range < groups_[i].last; ++range)
        sum += documents_.spill.ranges()[range].records;
    return sum;
  }

  const ScatteredDocuments& documents_;
  std::string list_, file_;
  std::vector<SpillRanges> groups_;
  ExternalShuffle spill_;
  Clock::time_point saved_ = Clock::now();
};

}  // namespace

ShuffledExamples scatter_examples(const ScatteredDocuments& documents,
                                  const ExampleBuilder& builder, std::size_t shards,
                                  const ShuffleOptions& options) {
  const ShuffleSizes& sizes = options.sizes;
  SavedDrawing drawing(documents, options);
  if (!drawing.is_complete()) drawing.draw(builder, shards, options);
  ShuffledExamples out{.spill = {}, .examples = drawing.examples(), .counts = drawing.counts()};
  out.spill = drawing.take();
  out.spill.split({.folder = options.folder,
                   .name = "examples",
                   .limit = sizes.range_bytes,
                   .fan_out = sizes.fan_out,
                   .least_chunk = sizes.least_chunk,
                   .most_chunk = sizes.most_chunk,
                   .memory = options.buffers(),
                   .threads = options.threads,
                   .list = drawing.list()});
  return out;
}

}  // namespace smelt::data
