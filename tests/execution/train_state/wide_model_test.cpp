// Runs models of realistic width for several steps: some errors with updated weights do not occur
// with narrow models.
#include <gtest/gtest.h>

#include <deque>

#include "data/input_pipeline/record_source.h"
#include "data/preprocess/bert_examples.h"
#include "execution/train_state/compiled_step.h"
#include "runs/small_run.h"
#include "support/captured_log.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "text/tokenizers/vocabulary.h"

namespace smelt::execution {
namespace {

model::BertTask wide_bert(std::int64_t hidden, std::int64_t layers) {
  model::BertTask bert{.seq_length = 32, .max_predictions = 5};
  bert.model.vocab_size =
      text::Vocabulary::load(source_path("tests/golden/pretraining/vocab_uncased.txt")).size();
  bert.model.hidden_size = hidden;
  bert.model.intermediate_size = 4 * hidden;
  bert.model.num_hidden_layers = layers;
  bert.model.num_attention_heads = hidden / 64;
  bert.model.max_position_embeddings = 32;
  bert.model.type_vocab_size = 2;
  bert.model.hidden_dropout_prob = bert.model.attention_probs_dropout_prob = 0;
  return bert;
}

using WideModel = SmallRun;

// Runs five steps of 256 tokens with BERT-base's width: on the state that the previous step updated
// in place, and on the same state in separate buffers.
TEST_F(WideModel, InPlaceUpdatesGiveTheLossesOfCopiedWeights) {
  SMELT_OPEN_CPU(client, 1);
  train::TrainJob job = this->job("model", 100);
  job.task = model::bert_task(wide_bert(768, 1));
  const data::RecordSource source({.input = job.data, .features = job.task.features});
  const model::StepProgram program =
      model::train_program(job.task, job.config, model::placement_for("cpu", 1, {}));
  const CompiledStep step(client, program);
  ModelState in_place = ModelState::fresh(*client, program.placement, program.state, 1);
  std::deque<ModelState> copies;  // kept alive, so that no address is reused
  copies.push_back(ModelState::fresh(*client, program.placement, program.state, 1));
  const auto run = [&](ModelState& state, int i) {
    pjrt::Execution execution = step.run(source.batch(static_cast<std::uint64_t>(i), 8), state, i);
    const float loss = execution.results[0].back().to_host<float>()[0];
    state.replace(execution.results);
    return loss;
  };
  for (int i = 0; i < 5; ++i) {
    const float want = run(copies.back(), i), got = run(in_place, i);
    EXPECT_NEAR(got, want, 1e-5 * want) << "at step " << i;
    const HostState host = copies.back().download();
    copies.push_back(
        ModelState::restore(*client, program.placement, program.state, host.tensors, "copy"));
  }
}

// Hidden size 256, feed-forward 1024, 256 tokens per step. The loss starts at 6.5, the logarithm of
// the vocabulary size plus that of two; it grows if a step does not use the updated weights.
TEST_F(WideModel, LearnsASmallText) {
  train::TrainJob job = this->job("model", 150);
  job.task = model::bert_task(wide_bert(256, 2));
  job.config.schedule = {
      .learning_rate = 5e-4, .warmup_steps = 20, .total_steps = 150, .power = 1.0};
  job.checkpoint.save_interval_steps = 150;
  train::train(job);
  EvaluateJob evaluation = this->evaluation("model");
  evaluation.task = job.task;
  EXPECT_LT(evaluate(evaluation).loss, 5.2);
}

}  // namespace
}  // namespace smelt::execution
