// Windows of neighbouring tokens as examples, as JEstimator's lm_data cuts them, across documents
// and sentences, or within documents; never across files.
#pragma once

#include <string>
#include <vector>

#include "data/input_pipeline/data_paths.h"
#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/kept_blocks.h"
#include "data/input_pipeline/record_order.h"
#include "data/input_pipeline/token_files.h"
#include "data/input_pipeline/window_cuts.h"

namespace smelt {

// Windows are cut as data/input_pipeline/window_cuts.h says, and become what `options.windows`
// makes of them. In training that is drawn by the seed and the example's position, in evaluation by
// its number alone.
class WindowSource : public ExampleSource {
 public:
  // Without `options.windows`, `options.features` must be one list of integers, whose length is
  // that of the windows. UsageError when it is not, when no file holds a window, or for ids that
  // are out of range and seen without reading all of a file.
  WindowSource(const RecordOptions& options, std::vector<std::string> paths,
               std::uint64_t memory = kTokenMemory);

  std::uint64_t size() const override { return cuts_->in_order(); }
  const std::vector<std::string>& files() const override { return tokens_.paths(); }
  std::optional<DataDescription> description() const override;
  std::uint64_t epoch_size() const override { return cuts_->trained(); }
  Json layout() const override;

 private:
  struct Run {  // of tokens of one file
    std::size_t file = 0;
    std::uint64_t first = 0;
    std::vector<std::int32_t> ids;
  };
  using Runs = std::vector<Run>;

  void put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const override;
  void put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                    std::size_t row) const override;
  Runs read_block(std::uint64_t block) const;
  // The example of a window as a row of the batch.
  void put(const WindowPlace& place, std::span<const std::int32_t> ids, const WindowKey& key,
           Batch& batch, std::size_t row) const;
  void check_file(std::size_t file) const;
  void check_ids(std::size_t file, std::uint64_t first, std::span<const std::int32_t> ids) const;

  std::optional<WindowTransform> transform_;
  std::uint64_t length_;
  TokenFiles tokens_;
  std::unique_ptr<WindowCuts> cuts_;
  std::uint64_t block_;
  RecordOrder order_;
  std::uint64_t train_key_, in_order_key_;
  mutable KeptBlocks<Runs> blocks_;
};

}  // namespace smelt
