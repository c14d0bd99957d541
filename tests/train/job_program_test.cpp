// The choice between scan and unrolled layers if the user leaves it open.
#include "train/job_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/tasks/bert_task.h"
#include "model/tasks/electra_task.h"
#include "model/tasks/jestimator_bert_task.h"
#include "model/tasks/t5_task.h"

namespace smelt {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kLong = 10'000;

TrainJob job_of(std::int64_t steps, std::int64_t layers = 12) {
  BertTask bert;
  bert.model.num_hidden_layers = layers;
  TrainJob job;
  job.task = bert_task(bert);
  job.on = {.device = "tpu", .devices = 8, .mesh = {}, .compute = ComputeOptions()};
  job.config.schedule.total_steps = steps;
  return job;
}

Layers layers_on(std::string_view platform, const TrainJob& job) {
  return compute_of(job, platform).layers;
}

TEST(ComputeOf, UnrollsTheLayersOfALongRunOnTpus) {
  const TrainJob job = job_of(kLong);
  EXPECT_EQ(layers_on("tpu", job), Layers::unrolled);
  EXPECT_EQ(compute_of(job, "tpu").save, RematPolicy::all);
  EXPECT_FALSE(compute_of(job, "tpu").stored_scores);
  EXPECT_THAT(layer_choice_text(job, "tpu"),
              HasSubstr("layers unrolled, because 10000 faster steps"));
  EXPECT_EQ(layers_on("tpu", job_of(kLong - 1)), Layers::scan);
  EXPECT_EQ(layer_choice_text(job_of(kLong - 1), "tpu"), "layers in a loop");
  EXPECT_EQ(layers_on("gpu", job), Layers::scan);
  EXPECT_THAT(layer_choice_text(job, "cpu"), IsEmpty());
}

TEST(ComputeOf, KeepsTheScanOfALongRunIfItIsNeeded) {
  TrainJob job = job_of(kLong);
  job.on.compute->save = RematPolicy::products;
  EXPECT_EQ(compute_of(job, "tpu").save, RematPolicy::products);
  EXPECT_EQ(layers_on("tpu", job), Layers::scan);
  job.on.compute = ComputeOptions{.layers = Layers::scan};
  EXPECT_EQ(layers_on("tpu", job), Layers::scan);
  EXPECT_THAT(layer_choice_text(job, "tpu"), IsEmpty());
  job = job_of(kLong);
  job.on.mesh.mesh = "fsdp=8";
  EXPECT_EQ(layers_on("tpu", job), Layers::scan);
  EXPECT_EQ(layers_on("tpu", job_of(kLong, 49)), Layers::scan);
}

TEST(ComputeOf, FindsTheNumberOfLayersOfEachModel) {
  TrainJob job = job_of(kLong);
  ElectraTask electra;
  electra.model.vocab_size = 200;
  job.task = electra_task(electra);
  EXPECT_EQ(layers_on("tpu", job), Layers::unrolled);
  JestimatorBertTask jestimator;
  jestimator.model.vocab_size = 200;
  jestimator.settings.mask_token_id = 4;
  jestimator.model.num_layers = 49;
  job.task = jestimator_bert_task(jestimator);
  EXPECT_EQ(layers_on("tpu", job), Layers::scan);
  jestimator.model.num_layers = 12;
  job.task = jestimator_bert_task(jestimator);
  EXPECT_EQ(layers_on("tpu", job), Layers::unrolled);
  T5Task t5;
  t5.model.vocab_size = 200;
  t5.model.num_layers = 49;
  job.task = t5_task(t5);
  EXPECT_EQ(layers_on("tpu", job), Layers::scan);
  t5.model.num_layers = 6;
  job.task = t5_task(t5);
  EXPECT_EQ(layers_on("tpu", job), Layers::unrolled);
}

}  // namespace
}  // namespace smelt
