// A run's texts whose spans a T5 fills at its checks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "execution/inference/row_model.h"
#include "execution/inference/text_sampler.h"
#include "model/models/t5_config.h"

namespace smelt {

struct SpanJob {
  T5Config model = {};
  // Ids of a text without its end; the text of ids.
  std::function<std::vector<std::int32_t>(std::string_view text)> encode;
  std::function<std::string(std::span<const std::int32_t> ids)> decode;
  std::int32_t end = 1, sentinel = 0;     // the first; those behind it are the ids below it
  std::int64_t sentinels = 0, words = 0;  // ids below which some are said
  bool exact_products = false;
};

// The ids of a text, each [MASK] of which is a sentinel. UsageError for a text without one, or with
// more than there are.
TokenRow span_row(const SpanJob& job, std::string_view text);

// Of an answer's ids, those behind each of `count` sentinels, up to the end.
std::vector<std::vector<std::int32_t>> spans_of(const SpanJob& job, std::size_t count,
                                                std::span<const std::int32_t> answer);

class SpanSampler : public TextSampler {
 public:
  // Greedy answers. The model lies on one device, or over the placement's mesh. UsageError as of
  // span_row.
  SpanSampler(std::shared_ptr<const Client> client, SpanJob job, std::vector<std::string> texts,
              const ShardingPlan& placement = {});

  std::string kind() const override { return "filled"; }
  // Each mask with what fills it and the probability of the whole answer.
  std::vector<TextSample> sample(const SlicedTensors& tensors,
                                 const std::string& where) const override;

 private:
  SpanJob job_;
  std::vector<std::string> texts_;
  std::vector<TokenRow> rows_;
  std::int64_t most_tokens_;
  std::unique_ptr<RowModel> model_;
};

}  // namespace smelt
