// A run's texts whose masks it fills at its checks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "execution/inference/fill_mask.h"
#include "execution/inference/text_sampler.h"

namespace smelt {

class MaskSampler : public TextSampler {
 public:
  // As MaskFiller has them.
  MaskSampler(std::shared_ptr<const Client> client, const FillMaskJob& job,
              std::shared_ptr<const BertTokenizer> tokenizer, std::vector<std::string> texts,
              const ShardingPlan& placement = {})
      : tokenizer_(std::move(tokenizer)),
        filler_(std::move(client), job, *tokenizer_, std::move(texts), placement) {}

  std::string kind() const override { return "filled"; }
  std::vector<TextSample> sample(const SlicedTensors& tensors,
                                 const std::string& where) const override;

 private:
  std::shared_ptr<const BertTokenizer> tokenizer_;
  MaskFiller filler_;
};

}  // namespace smelt
