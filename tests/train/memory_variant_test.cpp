// Memory fallbacks: smaller variants of a step that does not fit, as smelt plan tries them.
#include "train/memory_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/optim/adamw.h"
#include "runs/small_run.h"
#include "support/error_of.h"

namespace smelt::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TrainJob job_with_batch(std::int64_t batch) {
  model::BertTask bert = small_bert();
  bert.model.num_hidden_layers = 2;
  TrainJob job;
  job.task = model::bert_task(bert);
  job.on = {.device = "tpu", .devices = 8, .mesh = {}, .compute = model::ComputeOptions()};
  job.config.batch_size = batch;
  job.config.optimizer = model::adamw({});
  job.config.schedule.total_steps = 20'000;
  return job;
}

// Returns the settings of the first `fits` variants that are tried.
std::vector<std::string> tried(const TrainJob& job, std::size_t fits) {
  std::vector<std::string> out;
  run_with_memory_fallback(job, [&](const TrainJob& in_form) {
    const model::ComputeOptions& choice = *in_form.on.compute;
    const MemoryVariant form{.layers = choice.layers,
                             .save = choice.save,
                             .micro_batches = in_form.config.micro_batches};
    out.push_back(join(settings_of(form, recipe_field), " "));
    if (out.size() < fits) throw StepDoesNotFit(UsageError("train: a step does not fit", "none"));
  });
  return out;
}

TEST(MemoryVariant, TriesSmallerVariantsThatTheBatchDividesInto) {
  EXPECT_THAT(tried(job_with_batch(32), 5),
              ElementsAre("train.gradient_accumulation_steps=1",
                          "train.memory.layers=scan train.gradient_accumulation_steps=1",
                          "train.memory.layers=scan train.memory.remat_policy=layer "
                          "train.gradient_accumulation_steps=1",
                          "train.memory.layers=scan train.memory.remat_policy=layer "
                          "train.gradient_accumulation_steps=2",
                          "train.memory.layers=scan train.memory.remat_policy=layer "
                          "train.gradient_accumulation_steps=4"));
  EXPECT_THAT(error_of<StepDoesNotFit>([] { tried(job_with_batch(32), 6); }),
              HasSubstr("train: a step does not fit"))
      << "four examples of a device are no eight parts";
}

TEST(MemoryVariant, MultipliesMicroBatchesAndDoesNotTryTheJobsOwnScanTwice) {
  TrainJob job = job_with_batch(64);
  job.config.micro_batches = 2;
  job.config.schedule.total_steps = 100;
  EXPECT_THAT(tried(job, 3), ElementsAre("train.gradient_accumulation_steps=2",
                                         "train.memory.layers=scan train.memory.remat_policy=layer "
                                         "train.gradient_accumulation_steps=2",
                                         "train.memory.layers=scan train.memory.remat_policy=layer "
                                         "train.gradient_accumulation_steps=4"));
}

TEST(MemoryVariant, KeepsTheUsersChoice) {
  TrainJob job = job_with_batch(32);
  job.on.compute->layers = model::Layers::unrolled;
  EXPECT_THAT(error_of<StepDoesNotFit>([&] { tried(job, 2); }),
              HasSubstr("train: a step does not fit"));
}

TEST(MemoryVariant, UsesNewKeysForEachAttemptOfAMultiProcessRun) {
  TrainJob job = job_with_batch(32);
  std::vector<std::string> keys;
  job.together = {.rank = 1, .size = 2, .gather = [&](const std::string& key, const std::string&) {
                    keys.push_back(key);
                    return std::vector<std::string>(2);
                  }};
  run_with_memory_fallback(job, [&](const TrainJob& in_form) {
    in_form.together.barrier("lock");
    if (keys.size() < 3) throw StepDoesNotFit(UsageError("train: a step does not fit", "none"));
  });
  EXPECT_THAT(keys, ElementsAre("lock", "lock/try-1", "lock/try-2")) << "a key is used once";
}

}  // namespace
}  // namespace smelt::train
