// A trained model that is read when its first texts come.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "execution/train_state/resume.h"

namespace smelt {

// Returns a function from texts to their results. With the first texts it calls `check`, which
// reports their errors before the model is read, then reads the newest checkpoint of job.model_dir
// and calls `open` with its weights and the text that begins messages about them. The function that
// `open` returns gives the results and stays in memory. `command` begins messages.
template <class Results, class Job, class Check, class Open>
Results opened_with_first_texts(const char* command, const Job& job, Check check, Open open) {
  return [command, job, check = std::move(check), open = std::move(open),
          results = Results()](const std::vector<std::string>& texts) mutable {
    if (!results) {
      check(texts);
      auto loaded = std::make_shared<const TrainedModel>(
          load_trained_model(command, job.model_dir, job.model, job.vocab, job.averaged));
      results = open(std::shared_ptr<const SlicedTensors>(loaded, &loaded->checkpoint.tensors),
                     loaded->where);
    }
    return results(texts);
  };
}

}  // namespace smelt
