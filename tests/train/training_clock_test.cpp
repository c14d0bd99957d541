// The clock of runs whose length is a time, with steps of given durations.
#include "train/training_clock.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace smelt::train {
namespace {

// Runs steps until the clock's last step. Step s takes seconds_of(s).
struct TimedSteps {
  TrainingClock clock, other;  // `other`: another process, which receives the readings
  std::int64_t step = 0;
  std::vector<double> times = {};  // seconds_at() before each step
  double real = 0;                 // since the start

  explicit TimedSteps(double total) : clock(total), other(total) {}

  void run(const std::function<double(std::int64_t)>& seconds_of, std::int64_t most = 1'000'000) {
    const Clock::time_point start;
    const auto now = [&] {
      return start +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(real));
    };
    for (; most > 0; --most) {
      EXPECT_EQ(clock.is_due(step), other.is_due(step));
      if (clock.is_due(step)) {
        const std::string reading = clock.read(step, now());
        clock.set(reading);
        other.set(reading);
      }
      if (step >= clock.last_step()) break;
      times.push_back(clock.seconds_at(step));
      EXPECT_EQ(times.back(), other.seconds_at(step));
      EXPECT_EQ(clock.last_step(), other.last_step());
      real += seconds_of(++step);
    }
  }
  void start(std::int64_t at, double seconds) {
    step = at;
    for (TrainingClock* c : {&clock, &other}) c->start(at, seconds, Clock::time_point());
  }
};

TEST(TrainingClock, EndsWithTheTimeAtAnySpeed) {
  TimedSteps run(100);
  run.start(0, 0);
  run.run([](std::int64_t step) { return step <= 1000 ? 0.05 : 0.2; });  // 50 s, then 50 s
  EXPECT_NEAR(static_cast<double>(run.step), 1000 + 250, 3);
  EXPECT_NEAR(run.real, 100, 1);
  EXPECT_EQ(run.clock.seconds_at(run.step), 100);
  EXPECT_TRUE(std::ranges::is_sorted(run.times));
  EXPECT_NEAR(run.times[500], 25, 0.1);
  EXPECT_NEAR(run.times[1125], 75, 0.5);
}

TEST(TrainingClock, DoesNotTakeAnEvaluationForASlowStep) {
  TimedSteps run(100);
  run.start(0, 0);
  run.run([](std::int64_t step) { return step == 500 ? 20 : 0.1; });
  EXPECT_NEAR(static_cast<double>(run.step), 800, 3);
  EXPECT_NEAR(run.real, 100, 1);
  EXPECT_TRUE(std::ranges::is_sorted(run.times));
}

TEST(TrainingClock, ContinuesAtTheTimeOfACheckpoint) {
  TimedSteps run(10);
  run.start(40, 7.5);
  run.run([](std::int64_t) { return 0.5; });
  EXPECT_EQ(run.times.front(), 7.5);
  EXPECT_EQ(run.step, 45);
  EXPECT_NEAR(run.real, 2.5, 1e-6);
}

TEST(TrainingClock, IsReadAgainAfterARollback) {
  TimedSteps run(100);
  run.start(0, 0);
  run.run([](std::int64_t) { return 0.01; }, 5000);
  run.step = 4000;
  EXPECT_TRUE(run.clock.is_due(4000));
  run.times.clear();
  run.run([](std::int64_t) { return 0.01; });
  EXPECT_NEAR(run.times.front(), 50, 0.1);  // the time goes on
  EXPECT_NEAR(static_cast<double>(run.step), 9000, 3);
}

// An asynchronous device may start a step at once and spend its time later.
TEST(TrainingClock, DoesNotTrustAFewFastSteps) {
  TimedSteps run(24 * 3600);
  run.start(0, 0);
  std::vector<double> real;
  run.run(
      [&](std::int64_t step) {
        real.push_back(run.real);
        return step == 1 ? 0.002 : step == 2 ? 0.198 : 0.1;
      },
      10'000);
  for (std::size_t i = 0; i < real.size(); ++i) EXPECT_NEAR(run.times[i], real[i], 1) << i;
}

// The last step is evaluated and saved, so a run that is read too late still has one.
TEST(TrainingClock, HasALastStepAfterItsTime) {
  TimedSteps run(1);
  run.start(0, 0);
  run.run([](std::int64_t) { return 5; });
  EXPECT_EQ(run.step, 2);
  EXPECT_EQ(run.clock.seconds_at(1), 1);
}

TEST(TrainingClock, FormatsTimes) {
  EXPECT_EQ(hours_text(45), "45 seconds");
  EXPECT_EQ(hours_text(90 * 60), "90 minutes");
  EXPECT_EQ(hours_text(3600), "1 hour");
  EXPECT_EQ(hours_text(24 * 3600), "24 hours");
  EXPECT_EQ(hours_text(30), "30 seconds");
  TrainingClock clock(3600);
  clock.start(0, 900);
  EXPECT_EQ(clock.progress_text(0), "25.0 % of 1 hour");
}

}  // namespace
}  // namespace smelt::train
