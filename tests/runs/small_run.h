// Training of a tiny BERT on a small text, for tests of the training loop.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "checkpoint/storage/checkpoint.h"
#include "execution/inference/evaluate.h"
#include "model/optim/adamw.h"
#include "model/tasks/bert_task.h"
#include "support/captured_log.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "train/trainer.h"

namespace smelt {

// Hidden size 16, one layer, sequences of 32 tokens with at most 5 masks.
model::BertTask small_bert();
// Returns a job that trains on the records in `folder` and writes the model folder `model` there.
train::TrainJob small_job(const std::string& folder, const std::string& model, std::int64_t steps);

class SmallRun : public testing::Test {
 protected:
  void SetUp() override;

  static std::string vocab();
  static model::BertTask bert() { return small_bert(); }
  train::TrainJob job(const std::string& model, std::int64_t steps) const {
    return small_job(dir_.path(), model, steps);
  }
  // Saves a checkpoint of step 0, which needs no compilation.
  void save_first_weights(const std::string& model) const { train::train(job(model, 0)); }
  execution::EvaluateJob evaluation(const std::string& model) const;
  // Returns all tensors of a step's checkpoint, by name.
  std::map<std::string, std::vector<float>> state(const std::string& model,
                                                  std::int64_t step) const;
  // Writes records of another text and returns their path.
  std::string other_records() const;

  CapturedLog log_;
  TempDir dir_;

 private:
  void make_records(const std::string& text, const std::string& records) const;
};

// Copies the checkpoint of `step` to a new model folder, as if the run had been killed right after
// this step.
void cut_back(const std::string& from, const std::string& to, std::int64_t step);

}  // namespace smelt
