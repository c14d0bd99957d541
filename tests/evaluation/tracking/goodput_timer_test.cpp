#include "evaluation/tracking/goodput_timer.h"

#include <gtest/gtest.h>

#include <set>

namespace smelt::evaluation {
namespace {

TEST(GoodputTimer, CountsEachMomentOnce) {
  const auto start = Clock::now();
  GoodputTimer clock(GoodputBucket::preparation);
  SpentTimes all;
  {
    const auto saving = clock.during(GoodputBucket::save);
    const auto looking = clock.during(GoodputBucket::eval);
    while (seconds_since(start) < 0.002) {
    }
    all += clock.take();
  }
  clock.turn(GoodputBucket::step);
  all += clock.take();
  EXPECT_LE(all.total(), seconds_since(start));
  EXPECT_GT(all[GoodputBucket::eval], 0);
  EXPECT_GT(all[GoodputBucket::eval], all[GoodputBucket::save]);
  EXPECT_EQ(all[GoodputBucket::compile], 0);
  EXPECT_LT(clock.take().total(), all.total());  // times that were taken are not counted again
}

TEST(GoodputTimer, CategoriesUseMlGoodputNamesAndRoundTripThroughJson) {
  std::set<std::string_view> names;
  SpentTimes times;
  for (std::size_t i = 0; i < kSpentKinds; ++i) {
    names.insert(spent_name(static_cast<GoodputBucket>(i)));
    times.seconds[i] = static_cast<double>(i + 1);
  }
  EXPECT_EQ(names.size(), kSpentKinds);
  for (const char* name :
       {"tpu_initialization", "training_prep", "program_startup", "data_loading_sync",
        "unproductive_checkpoint_save_time", "unproductive_checkpoint_restore_time",
        "wasted_progress_from_disruption", "infrastructure_recovery_from_disruption",
        "custom_badput_events"})
    EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_EQ(spent_times(to_json(times)).seconds, times.seconds);
  EXPECT_EQ(spent_times({{"of a later version", 2.0}})[GoodputBucket::other], 2.0);
  EXPECT_EQ(spent_times({{"step", "no number"}}).total(), 0);
}

}  // namespace
}  // namespace smelt::evaluation
