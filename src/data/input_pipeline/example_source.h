// Batches of examples, wherever they come from. A batch is a pure function of the files, the seed
// and the step: to resume, ask for the next step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "data/input_pipeline/batch.h"
#include "data/input_pipeline/description.h"
#include "data/input_pipeline/length_groups.h"
#include "io/formats/window_transform.h"

namespace smelt {

struct RecordOptions {
  std::string input;           // comma list of files and patterns
  Features features;           // that every example has; of records at most kMostSlots
  std::uint64_t seed = 12345;  // of the shuffle
  // Of records; a description that names another kind is refused, and so is a foreign feature.
  std::string kind = {};  // empty: any
  std::vector<ForeignFeature> foreign = {};
  // Of tokens: what a window becomes; unset: the one feature is the window.
  std::optional<WindowTransform> windows = {};
  // Of records: lengths that batches may have, ascending, the last that of `tokens`, a feature
  // whose numbers other than 0 are tokens (data/input_pipeline/length_groups.h). Empty: all have
  // the last.
  std::vector<std::int64_t> lengths = {};
  std::string tokens = {};
};

// The part of each batch that one of several hosts trains on: an equal run of rows. Together, in
// the hosts' order, they are the batch of one host.
struct HostShare {
  std::int64_t host = 0, hosts = 1;
};

// Thread-safe. Every fault of a file is a UsageError naming the file and where in it.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  // Training: the endless sequence of epochs, each a fresh shuffle of all examples, cut into
  // batches (data/input_pipeline/record_order.h). No example is dropped: a batch may hold the end
  // of one epoch and the beginning of the next. The order does not depend on how many hosts share a
  // batch; each of 2, 4, 8 or 16 reads only its own part of many examples, but of batches by
  // length. UsageError when they cannot share it equally.
  Batch batch(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;

  // Evaluation: examples in file order, from the first again after the last (the original repeats
  // too).
  Batch batch_in_order(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;
  // These, as a batch: [first, first + count) of size().
  Batch examples_in_order(std::uint64_t first, std::uint64_t count) const;
  virtual std::uint64_t size() const = 0;                      // examples in file order
  virtual std::uint64_t epoch_size() const { return size(); }  // of an epoch of training
  // What training's order depends on besides size() and the seed.
  virtual Json layout() const { return Json::object(); }
  // How many whole batches one pass holds; a remainder is left out, as in the original.
  std::uint64_t whole_batches(std::int64_t batch_size) const;

  virtual const std::vector<std::string>& files() const = 0;
  // What the data say of themselves; nullopt when they say nothing.
  virtual std::optional<DataDescription> description() const = 0;

 protected:
  explicit ExampleSource(Features features, std::optional<LengthGroups> groups = {})
      : features_(std::move(features)), groups_(std::move(groups)) {}
  const Features& features() const { return features_; }

 private:
  // Of the example at a position of training's order.
  virtual std::uint64_t tokens_at(std::uint64_t) const { return 0; }
  // The examples at these positions of training's order, as the batch's rows.
  virtual void put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const = 0;
  // The examples [first, first + count) in file order, as the rows from `row` on.
  virtual void put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                            std::size_t row) const = 0;

  Features features_;
  std::optional<LengthGroups> groups_;
};

// What the paths hold: TFRecord files of tf.Examples (data/input_pipeline/record_source.h), or
// token stores and snapshot folders (data/input_pipeline/window_source.h). UsageError when nothing
// is there.
std::unique_ptr<ExampleSource> open_examples(const RecordOptions& options);

}  // namespace smelt
