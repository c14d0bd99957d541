// Windows of neighbouring tokens as examples, as JEstimator's lm_data cuts them: across documents
// and sentences, never across files.
#pragma once

#include <string>
#include <vector>

#include "data/data_paths.h"
#include "data/example_source.h"
#include "data/kept_blocks.h"
#include "data/record_order.h"
#include "data/token_files.h"

namespace smelt {

// A file of T tokens has, for windows of L tokens, in each epoch of training
// max(1, ⌊(T - L + 1) / L⌋) of them behind a skip that is drawn for the file and the epoch, less
// than L and no more than the last window allows; none when T < L. In evaluation ⌊T / L⌋, the first
// of which begins at the file's first token. What is left over waits for another epoch.
class WindowSource : public ExampleSource {
 public:
  // `options.features` must be one list of integers, whose length is that of the windows.
  // UsageError when it is not, when no file holds a window, or for ids that are out of range and
  // seen without reading all of a file.
  WindowSource(const RecordOptions& options, std::vector<std::string> paths,
               std::uint64_t memory = kTokenMemory);

  std::uint64_t size() const override { return in_order_.back(); }
  const std::vector<std::string>& files() const override { return tokens_.paths(); }
  std::optional<DataDescription> description() const override;
  std::uint64_t epoch_size() const override { return trained_.back(); }
  nlohmann::json layout() const override;

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
  std::uint64_t skips(std::size_t file) const;  // that may be drawn: 0, 1, …
  std::uint64_t skip(std::size_t file, std::uint64_t epoch) const;
  void check_file(std::size_t file) const;
  void check_ids(std::size_t file, std::uint64_t first, std::span<const std::int32_t> ids) const;

  std::uint64_t length_;
  TokenFiles tokens_;
  std::vector<std::uint64_t> trained_, in_order_;  // windows before each file and of all
  std::uint64_t skip_key_, block_;
  RecordOrder order_;
  mutable KeptBlocks<Runs> blocks_;
};

}  // namespace smelt
