// Detection of hangs.
#include <chrono>
#include <thread>

#include "data/input_pipeline/record_source.h"
#include "runs/small_run.h"

namespace smelt::train {
namespace {

// A source whose training batches never arrive.
class StuckSource : public data::RecordSource {
  using data::RecordSource::RecordSource;
  void put_shuffled(std::span<const std::uint64_t>, data::Batch&) const override {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
};

using HangDeathTest = SmallRun;

TEST_F(HangDeathTest, EndsTheProcessIfABatchDoesNotArrive) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  TrainJob run = job("m", 3);
  run.hang_minutes = 2.0 / 60;
  run.source = std::make_shared<StuckSource>(data::RecordOptions{
      .input = run.data, .features = run.task.features, .seed = run.config.seed});
  EXPECT_EXIT(train(run), testing::ExitedWithCode(1),
              "waiting for the batch of step 1 has not ended after .*train.hang_minutes");
}

}  // namespace
}  // namespace smelt::train
