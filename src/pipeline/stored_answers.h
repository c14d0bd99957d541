// What a trained model answers that is named by its folder alone, without a recipe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/lazy_files.h"
#include "pipeline/objective_type.h"
#include "text/tokenizers/wordpiece.h"

namespace smelt {

struct StoredModelFlags {
  std::string vocab;  // empty: what lies with the model
  std::string device = "cpu", precision = "f32";
  TokenizerFlags tokenizer = {};
};

// Whether the path is a model's folder or checkpoint, of any form, and so no recipe.
bool is_stored_model(const std::string& path);

struct ScoredText {
  CorpusCounts text;
  Evaluation evaluation;
  std::int64_t seq_length = 0;  // tokens of an example
  std::string verdict;          // as pipeline/evaluation.h has it
};

// Averages of the weights, where there are any, take their place.
class StoredAnswers {
 public:
  // `command` begins messages. UsageError where vocabulary or sizes are not known, the vocabulary
  // is another than the model was made with, or as open_stored_model() has it.
  StoredAnswers(std::string command, const std::string& path, const StoredModelFlags& flags);

  // As open_filler() and open_detector(); UsageError for a model that fills no masks, or has no
  // discriminator.
  Filler filler(std::int64_t top) const;
  Detector detector() const;
  // As pipeline/pipeline.h's generator_of().
  Generator generator(const GenerateOptions& with) const;
  // As pipeline/pipeline.h's classifier_of().
  Classifier classifier(const ClassifyOptions& with) const;
  // Scores it on examples that are made of the text, in a temporary folder. UsageError for too
  // little of it.
  ScoredText score(const TextToScore& text) const;

 private:
  template <class Job>
  Job asked() const;
  // For what multiplies no codes.
  std::shared_ptr<const StoredTensors> floats() const;
  std::shared_ptr<const SlicedTensors> float_tensors() const;

  std::string command_;
  StoredModelFlags flags_;
  StoredModel model_;
  const ObjectiveType* type_;
  std::shared_ptr<const StoredTensors> weights_;
};

}  // namespace smelt
