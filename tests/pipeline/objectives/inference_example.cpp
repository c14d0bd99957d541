#include <iostream>

#include "pipeline/objectives/pretrained_model.h"

// Prints what a model can tell about two texts.
void describe(const std::string& folder) {
  using namespace smelt::pipeline;
  const std::vector<std::string> texts{"the cat sees a dog", "a dog likes the cat"};
  PretrainedModel model = PretrainedModel::load(folder, {.device = "cpu", .batch_size = 8});
  for (const Embedding& one : model.embed(texts))
    std::cout << one.mean.size() << " numbers, the first " << one.mean.front() << "\n";
  if (model.can(InferenceTask::score))
    for (const TextScore& one : model.score(texts))
      std::cout << one.log_likelihood / one.tokens << " a token\n";
  if (model.can(InferenceTask::fill_mask))
    for (const auto& guess : model.fill_mask({"the [MASK] sees a dog"}, 3)[0].masks[0])
      std::cout << guess.token << " " << guess.probability << "\n";
}
