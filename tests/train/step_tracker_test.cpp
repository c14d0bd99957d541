#include "train/step_tracker.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace smelt::train {
namespace {

TEST(StepTracker, RequiresAReportBeforeTheNextButOneStep) {
  StepTracker at(7, false);
  EXPECT_EQ(at.state(), RunState::settled);
  EXPECT_FALSE(at.report_is_due());
  at.started();
  EXPECT_EQ(at.state(), RunState::under_way);
  EXPECT_EQ(at.step(), 8);
  EXPECT_THROW(at.started(), BugError);
  EXPECT_THROW(at.checked(), BugError);
  EXPECT_THROW(at.check_cut(), BugError);
  at.reported(false);
  EXPECT_EQ(at.state(), RunState::settled);
  EXPECT_THROW(at.reported(false), BugError);
}

// The step after the spike is running when the spike's report is read.
TEST(StepTracker, AllowsOnlyARollbackAfterASpike) {
  StepTracker at(7, false);
  EXPECT_THROW(at.went_back(3), BugError);
  EXPECT_THROW(at.spike(), BugError);
  at.started();
  at.reported(true);
  at.started();
  EXPECT_EQ(at.state(), RunState::spiked);
  EXPECT_TRUE(at.report_is_due());
  EXPECT_EQ(at.spike(), 8);
  EXPECT_EQ(at.step(), 9);
  EXPECT_THROW(at.checked(), BugError);
  EXPECT_THROW(at.check_cut(), BugError);
  EXPECT_THROW(at.went_back(8), BugError);
  at.went_back(5);
  EXPECT_EQ(at.state(), RunState::settled);
  EXPECT_FALSE(at.report_is_due());
  EXPECT_EQ(at.step(), 5);
}

TEST(StepTracker, SpikeIsNotClearedByTheNextReport) {
  StepTracker at(0, false);
  at.started();
  at.reported(true);
  at.started();
  at.reported(false);
  EXPECT_EQ(at.state(), RunState::spiked);
  EXPECT_EQ(at.spike(), 1);
}

TEST(StepTracker, AnUncheckedStateIsEvaluatedBeforeTheNextStep) {
  StepTracker at(7, true);
  EXPECT_EQ(at.state(), RunState::unchecked);
  EXPECT_THROW(at.started(), BugError);
  at.checked();
  EXPECT_EQ(at.state(), RunState::settled);
  at.check_cut();
  EXPECT_EQ(at.state(), RunState::cut);
  EXPECT_THROW(at.started(), BugError);
  EXPECT_THROW(at.checked(), BugError);
}

}  // namespace
}  // namespace smelt::train
