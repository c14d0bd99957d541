// State that a run saves when its data becomes unreadable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/storage/checkpoint.h"
#include "data/input_pipeline/example_source.h"
#include "runs/small_run.h"
#include "support/error_of.h"

namespace smelt::train {
namespace {

using testing::HasSubstr;

// A source whose records after the sixth batch of eight cannot be read.
class BrokenSource : public data::ExampleSource {
 public:
  explicit BrokenSource(io::Features features) : data::ExampleSource(std::move(features)) {}
  std::uint64_t size() const override { return 80; }
  const std::vector<std::string>& files() const override { return files_; }
  std::optional<data::DataDescription> description() const override { return std::nullopt; }

 private:
  void put_shuffled(std::span<const std::uint64_t> positions, data::Batch&) const override {
    if (positions.front() >= 48) throw UsageError("here: record 48 is cut off");
  }
  void put_in_order(std::uint64_t, std::uint64_t, data::Batch&, std::size_t) const override {}

  std::vector<std::string> files_{"here"};
};

using BrokenDataTest = SmallRun;

TEST_F(BrokenDataTest, SavesTheStateIfDataCannotBeRead) {
  TrainJob run = job("model", 12);
  run.checkpoint.save_interval_steps = 100;
  run.source = std::make_shared<const BrokenSource>(run.task.features);
  EXPECT_THAT(error_of([&] { train(run); }), HasSubstr("here: record 48 is cut off"));
  EXPECT_THAT(checkpoint::checkpoint_steps(dir_.file("model")), testing::ElementsAre(6));
}

}  // namespace
}  // namespace smelt::train
