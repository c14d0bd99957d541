// Runs that prune weights.
#include "model/optim/pruning.h"

#include <gmock/gmock.h>

#include "model/optim/soft_pruning.h"
#include "runs/small_run.h"

namespace smelt::train {
namespace {

class PruningRun : public SmallRun {
 protected:
  TrainJob pruned(const std::string& model, std::int64_t devices = 1) const {
    TrainJob out = job(model, 20);
    out.config.pruning = model::prune_over(20, 2, 0.6, model::PruneBy::magnitude);
    out.config.optimizer = model::keeping_zeros(std::move(out.config.optimizer));
    out.on.devices = devices;
    out.checkpoint.save_interval_steps = 3;
    out.checkpoint.max_to_keep = 20;
    return out;
  }
  static constexpr std::uint64_t kWeights = 4 * 16 * 16 + 2 * 16 * 32;
  // Returns the number of zeros in the layer's matrices.
  std::uint64_t zeros(const std::string& model, std::int64_t step) const {
    std::uint64_t out = 0;
    for (const auto& [name, values] : state(model, step))
      if (name.ends_with("/kernel") && name.find("/layer_") != name.npos)
        out += static_cast<std::uint64_t>(std::ranges::count(values, 0.0F));
    return out;
  }
};

TEST_F(PruningRun, ReachesTheRequestedSparsityGradually) {
  train(pruned("run"));
  std::uint64_t before = 0;
  for (const std::int64_t step : {3, 6, 9, 12, 15}) {
    EXPECT_GE(zeros("run", step), before);
    before = zeros("run", step);
  }
  EXPECT_GT(zeros("run", 6), 0);
  EXPECT_LT(zeros("run", 6), zeros("run", 12));
  EXPECT_EQ(zeros("run", 18), kWeights - model::kept_of(kWeights, 0.6));
  EXPECT_EQ(zeros("run", 20), zeros("run", 18));
}

TEST_F(PruningRun, GivesTheSameBitsAfterAKillAtAnyStep) {
  for (const model::PruneBy by :
       {model::PruneBy::magnitude, model::PruneBy::movement, model::PruneBy::soft}) {
    const auto run = [&](const std::string& model) {
      TrainJob out = pruned(model);
      out.config.pruning.by = by;
      if (by == model::PruneBy::soft) out.config.pruning = model::prune_softly(20, 2);
      if (by == model::PruneBy::movement)
        out.config.optimizer = model::counting_movement(std::move(out.config.optimizer));
      if (by == model::PruneBy::soft)
        out.config.optimizer = model::learning_scores(std::move(out.config.optimizer),
                                                      {.rate = 0.5}, out.config.pruning.schedule);
      return out;
    };
    const std::string name = str("by_", static_cast<int>(by));
    const TrainSummary whole = train(run(name));
    const auto want = state(name, 20);
    if (by == model::PruneBy::soft)
      EXPECT_GT(zeros(name, 20), kWeights / 10);
    else
      EXPECT_EQ(zeros(name, 20), kWeights - model::kept_of(kWeights, 0.6));
    for (const std::int64_t step : {3, 9, 15, 18}) {
      const std::string model = str(name, "_from_", step);
      cut_back(dir_.file(name), dir_.file(model), step);
      const TrainSummary resumed = train(run(model));
      EXPECT_EQ(resumed.first_step, step);
      EXPECT_EQ(resumed.last, whole.last);
      EXPECT_EQ(state(model, 20), want) << step;
    }
  }
}

TEST_F(PruningRun, ReachesItsSparsityIfItIsResumedWithFewerSteps) {
  train(pruned("whole"));
  cut_back(dir_.file("whole"), dir_.file("cut"), 12);
  TrainJob rest = pruned("cut");
  rest.config.schedule.total_steps = 14;
  rest.config.pruning = model::prune_over(14, 2, 0.6, model::PruneBy::magnitude);
  EXPECT_LT(rest.config.pruning.schedule.end, 12);
  train(rest);
  EXPECT_EQ(zeros("cut", 14), kWeights - model::kept_of(kWeights, 0.6));
}

TEST_F(PruningRun, KeepsThePatternOfPretrainedWeights) {
  TrainJob patterned = pruned("run");
  patterned.config.pruning = model::prune_in_pattern({.kept = 2, .of = 4});
  train(patterned);
  for (const std::int64_t step : {3, 20}) EXPECT_EQ(zeros("run", step), kWeights / 2);
}

}  // namespace
}  // namespace smelt::train
