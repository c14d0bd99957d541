// Batches of examples from any source. A batch is a pure function of the files, the seed and the
// step, so resuming only needs the next step number.
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

namespace smelt::data {

struct RecordOptions {
  std::string input;           // comma-separated files and patterns
  io::Features features;       // features that every example has; for records at most kMostSlots
  std::uint64_t seed = 12345;  // shuffle seed
  // For records: the expected kind. A description with another kind, or a record with a feature in
  // `foreign`, is an error.
  std::string kind = {};  // empty: any kind
  std::vector<io::ForeignFeature> foreign = {};
  // For tokens: converts a window to an example. If unset, the only feature is the window.
  std::optional<io::WindowTransform> windows = {};
  // For records: lengths that batches may have, ascending; the last one is the length of `tokens`,
  // a feature whose nonzero values are tokens (data/input_pipeline/length_groups.h). If empty, all
  // batches have the full length.
  std::vector<std::int64_t> lengths = {};
  std::string tokens = {};
};

// One host's part of each batch. All hosts have the same number of adjacent rows; their parts in
// host order form the whole batch.
struct HostShare {
  std::int64_t host = 0, hosts = 1;
};

// A source of examples. Thread-safe. Errors in a file are a UsageError with the file and position.
class ExampleSource {
 public:
  virtual ~ExampleSource() = default;

  // Returns a training batch. Training is an endless sequence of epochs, each a new shuffle of all
  // examples, split into batches (data/input_pipeline/record_order.h). No example is dropped: a
  // batch may contain the end of one epoch and the beginning of the next. The order does not depend
  // on the number of hosts. With 2, 4, 8 or 16 hosts each one reads only its part of many examples,
  // unless batches are grouped by length. Throws UsageError if the hosts cannot share a batch
  // equally.
  Batch batch(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;

  // Returns an evaluation batch: examples in file order, starting over after the last one, like
  // google-research/bert.
  Batch batch_in_order(std::uint64_t step, std::int64_t batch_size, HostShare share = {}) const;
  // Returns the examples [first, first + count) in file order as a batch; first + count <= size().
  Batch examples_in_order(std::uint64_t first, std::uint64_t count) const;
  virtual std::uint64_t size() const = 0;  // number of examples in file order
  // number of examples in a training epoch
  virtual std::uint64_t epoch_size() const { return size(); }
  // Returns everything that the training order depends on besides size() and the seed.
  virtual Json layout() const { return Json::object(); }
  // Returns the number of complete batches in one pass over the examples. An incomplete last batch
  // is not used, as in google-research/bert.
  std::uint64_t full_batches(std::int64_t batch_size) const;

  const io::Features& features() const { return features_; }
  virtual const std::vector<std::string>& files() const = 0;
  // Returns the description of the data, or nullopt if it has none.
  virtual std::optional<DataDescription> description() const = 0;

 protected:
  explicit ExampleSource(io::Features features, std::optional<LengthGroups> groups = {})
      : features_(std::move(features)), groups_(std::move(groups)) {}

 private:
  // Returns the number of tokens of the example at a position in training order.
  virtual std::uint64_t tokens_at(std::uint64_t) const { return 0; }
  // Writes the examples at these positions of the training order to the batch's rows.
  virtual void put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const = 0;
  // Writes the examples [first, first + count) in file order to the rows from `row` on.
  virtual void put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                            std::size_t row) const = 0;

  io::Features features_;
  std::optional<LengthGroups> groups_;
};

// Opens TFRecord files of tf.Examples (data/input_pipeline/record_source.h), or token stores and
// snapshot folders (data/input_pipeline/window_source.h). Throws UsageError if a path does not
// exist.
std::unique_ptr<ExampleSource> open_examples(const RecordOptions& options);

}  // namespace smelt::data
