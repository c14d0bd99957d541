// Sample texts whose masked spans a T5 fills at the evaluations of a run.
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

namespace smelt::execution {

struct SpanJob {
  model::T5Config model = {};
  // `encode` returns the ids of a text without the end token; `decode` the text of ids.
  std::function<std::vector<std::int32_t>(std::string_view text)> encode;
  std::function<std::string(std::span<const std::int32_t> ids)> decode;
  // Ids of the end token and of the first sentinel; the other sentinels have descending ids.
  std::int32_t end = 1, sentinel = 0;
  // Number of sentinels, and number of tokens in the tokenizer. Ids that are not less than `words`
  // are never generated.
  std::int64_t sentinels = 0, words = 0;
  bool exact_products = false;  // HloForm::exact_products
};

// Returns the ids of a text, with each [MASK] replaced by a sentinel. Throws UsageError for a text
// without [MASK], or with more of them than there are sentinels.
TokenRow span_row(const SpanJob& job, std::string_view text);

// Returns for each of the first `count` sentinels the ids that were generated after it, up to the
// next sentinel or the end token.
std::vector<std::vector<std::int32_t>> spans_of(const SpanJob& job, std::size_t count,
                                                std::span<const std::int32_t> answer);

class SpanSampler : public TextSampler {
 public:
  // Fills by greedy decoding. Places the model on one device, or on the placement's mesh. Throws
  // UsageError in the same cases as span_row().
  SpanSampler(std::shared_ptr<const pjrt::Client> client, SpanJob job,
              std::vector<std::string> texts, const model::ShardingPlan& placement = {});

  std::string kind() const override { return "filled"; }
  // Returns the text for each mask, with the probability of the whole generated sequence.
  std::vector<TextSample> sample(const checkpoint::SlicedTensors& tensors,
                                 const std::string& where) const override;

 private:
  SpanJob job_;
  std::vector<std::string> texts_;
  std::vector<TokenRow> rows_;
  std::int64_t most_tokens_;
  std::unique_ptr<RowModel> model_;
};

}  // namespace smelt::execution
