// The choice between scan and unrolled layers if the user leaves it open.
#include "train/job_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tasks/bert_task.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/tasks/t5_task.h"

namespace smelt::train {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLong = 10'000;

TrainJob job_of(std::int64_t steps, std::int64_t layers = 12) {
  model::BertTask bert;
  bert.model.num_hidden_layers = layers;
  TrainJob job;
  job.task = model::bert_task(bert);
  job.on = {.device = "tpu", .devices = 8, .mesh = {}, .compute = model::ComputeOptions()};
  job.config.schedule.total_steps = steps;
  return job;
}

model::Layers layers_on(std::string_view platform, const TrainJob& job) {
  return compute_of(job, platform).layers;
}

TEST(ComputeOf, UnrollsTheLayersOfALongRunOnTpus) {
  const TrainJob job = job_of(kLong);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::unrolled);
  EXPECT_EQ(compute_of(job, "tpu").save, compiler::RematPolicy::all);
  EXPECT_FALSE(compute_of(job, "tpu").stored_scores);
  EXPECT_THAT(layer_choice_text(job, "tpu"),
              HasSubstr("layers unrolled, because 10000 faster steps"));
  EXPECT_EQ(layers_on("tpu", job_of(kLong - 1)), model::Layers::scan);
  EXPECT_EQ(layer_choice_text(job_of(kLong - 1), "tpu"), "layers in a loop");
  EXPECT_EQ(layers_on("gpu", job), model::Layers::scan);
  EXPECT_THAT(layer_choice_text(job, "cpu"), IsEmpty());
}

TEST(ComputeOf, KeepsTheScanOfALongRunIfItIsNeeded) {
  TrainJob job = job_of(kLong);
  job.on.compute->save = compiler::RematPolicy::products;
  EXPECT_EQ(compute_of(job, "tpu").save, compiler::RematPolicy::products);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::scan);
  job.on.compute = model::ComputeOptions{.layers = model::Layers::scan};
  EXPECT_EQ(layers_on("tpu", job), model::Layers::scan);
  EXPECT_THAT(layer_choice_text(job, "tpu"), IsEmpty());
  job = job_of(kLong);
  job.on.mesh.mesh = "fsdp=8";
  EXPECT_EQ(layers_on("tpu", job), model::Layers::scan);
  EXPECT_EQ(layers_on("tpu", job_of(kLong, 49)), model::Layers::scan);
}

TEST(ComputeOf, FindsTheNumberOfLayersOfEachModel) {
  TrainJob job = job_of(kLong);
  model::ElectraTask electra;
  electra.model.vocab_size = 200;
  job.task = model::electra_task(electra);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::unrolled);
  model::JestimatorBertTask jestimator;
  jestimator.model.vocab_size = 200;
  jestimator.settings.mask_token_id = 4;
  jestimator.model.num_layers = 49;
  job.task = model::jestimator_bert_task(jestimator);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::scan);
  jestimator.model.num_layers = 12;
  job.task = model::jestimator_bert_task(jestimator);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::unrolled);
  model::T5Task t5;
  t5.model.vocab_size = 200;
  t5.model.num_layers = 49;
  job.task = model::t5_task(t5);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::scan);
  t5.model.num_layers = 6;
  job.task = model::t5_task(t5);
  EXPECT_EQ(layers_on("tpu", job), model::Layers::unrolled);
}

}  // namespace
}  // namespace smelt::train
