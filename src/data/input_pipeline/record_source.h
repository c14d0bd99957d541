// An ExampleSource for the records of TFRecord files (docs/reference/formats/tfrecord.md).
#pragma once

#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/record_blocks.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_order.h"

namespace smelt::data {

class RecordSource : public ExampleSource {
 public:
  // Indexes the files and checks the description and the first record of each file.
  explicit RecordSource(const RecordOptions& options);

  std::uint64_t size() const override { return index_.size(); }
  const std::vector<std::string>& files() const override { return index_.files(); }
  // Returns nullopt if only some of the described files are given.
  std::optional<DataDescription> description() const override;
  const RecordIndex& index() const { return index_; }

  Json layout() const override;

 private:
  std::uint64_t tokens_at(std::uint64_t position) const override;
  void put_shuffled(std::span<const std::uint64_t> positions, Batch& batch) const override;
  void put_in_order(std::uint64_t first, std::uint64_t count, Batch& batch,
                    std::size_t row) const override;

  void count_tokens(const std::string& feature);

  std::vector<std::int64_t> lengths_;
  RecordIndex index_;
  RecordOrder order_;
  mutable RecordBlocks blocks_;
  // Number of tokens of each record, if batches are grouped by length and no index stores them.
  std::vector<std::uint32_t> tokens_;
};

}  // namespace smelt::data
