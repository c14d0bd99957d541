#include "runs/small_run.h"

namespace smelt::train {
namespace {

class DryRun : public SmallRun {};

TEST_F(DryRun, WithOverwriteDeletesNothing) {
  save_first_weights("m");
  TrainJob anew = job("m", 5);
  anew.overwrite = anew.dry_run = true;
  const TrainSummary read = train(anew);
  EXPECT_EQ(read.last_step, 0);
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m")), 0);
  EXPECT_NE(log_.text().find("dry run: 1 batch of 8 examples read, nothing trained"),
            std::string::npos);
}

}  // namespace
}  // namespace smelt::train
