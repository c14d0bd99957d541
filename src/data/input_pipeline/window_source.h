// An ExampleSource of windows of adjacent tokens, like JEstimator's lm_data: across documents and
// sentences, or within documents, but never across files.
#pragma once

#include <string>
#include <vector>

#include "data/input_pipeline/block_cache.h"
#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/record_order.h"
#include "data/input_pipeline/token_files.h"
#include "data/input_pipeline/window_cuts.h"

namespace smelt::data {

// Windows are split as described in data/input_pipeline/window_cuts.h and converted by
// `options.windows`. The random numbers for a window depend on the seed and the example's position
// in training; in evaluation they depend only on the window's number.
class WindowSource : public ExampleSource {
 public:
  // Without `options.windows`, `options.features` must be one integer list, whose length is the
  // window length. Throws UsageError if it is not, if no file has a window, or if an id is out of
  // range. In a file that does not store its largest id, only the first and the last window are
  // checked; other ids are checked when they are read.
  WindowSource(const RecordOptions& options, std::vector<std::string> paths,
               std::uint64_t memory = kTokenMemory);

  std::uint64_t size() const override { return cuts_->in_order(); }
  const std::vector<std::string>& files() const override { return tokens_.paths(); }
  std::optional<DataDescription> description() const override;
  std::uint64_t epoch_size() const override { return cuts_->trained(); }
  Json layout() const override;

 private:
  struct Run {  // adjacent tokens of one file
    std::size_t file = 0;
    std::uint64_t first = 0;
    std::vector<std::int32_t> ids;
  };
  using Runs = std::vector<Run>;

  void put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const override;
  void put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                    std::size_t row) const override;
  Runs read_block(std::uint64_t block) const;
  // Writes the example of a window to a row of the batch.
  void put(const WindowPlace& place, std::span<const std::int32_t> ids, const io::WindowKey& key,
           Batch& batch, std::size_t row) const;
  void check_file(std::size_t file) const;
  void check_ids(std::size_t file, std::uint64_t first, std::span<const std::int32_t> ids) const;

  std::optional<io::WindowTransform> transform_;
  std::uint64_t length_;
  TokenFiles tokens_;
  std::unique_ptr<WindowCuts> cuts_;
  std::uint64_t block_;
  RecordOrder order_;
  std::uint64_t train_key_, in_order_key_;
  mutable BlockCache<Runs> blocks_;
};

}  // namespace smelt::data
