// The records of TFRecord files (docs/reference/formats/tfrecord.md) as examples.
#pragma once

#include "data/input_pipeline/example_source.h"
#include "data/input_pipeline/record_blocks.h"
#include "data/input_pipeline/record_index.h"
#include "data/input_pipeline/record_order.h"

namespace smelt {

class RecordSource : public ExampleSource {
 public:
  // Indexes the files and checks what they are, and the first record of each.
  explicit RecordSource(const RecordOptions& options);

  std::uint64_t size() const override { return index_.size(); }
  const std::vector<std::string>& files() const override { return index_.files(); }
  // Of a part of what is described there is none.
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
  std::vector<std::uint32_t> tokens_;  // of each record, where lengths want them and no index says
};

}  // namespace smelt
