// Tests of data.train, data.validation and data.test as commands that print rows.
#include "pipeline/config/row_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/sweep/trials.h"
#include "runs/golden_classify.h"
#include "runs/state_values.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::HasSubstr;
using testing::Not;

// A script that prints different rows each time, and counts its calls.
constexpr const char* kScript = R"sh(cd "$(dirname "$0")"
echo >> ran
n=$(wc -l < ran)
for i in 8 9 10 11 12 13;
do
  echo "{\"text\": \"cat w$i\", \"label\": \"a\", \"time\": $n}"
  echo "{\"text\": \"dog w$((i + n))\", \"label\": \"b\"}"
done
)sh";

class RowCommands : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("base"));
    io::write_file(dir_.file("set.sh"), kScript);
    io::write_file(
        dir_.file("r.yaml"),
        str("data: {train: '!sh ", dir_.file("set.sh"),
            " train', seq_length: 8, validation_share: 0.3}\n"
            "model: {type: classify}\n"
            "train: {init_from: ",
            dir_.file("base"),
            ", batch_size: 4, steps: 4, optimizer.learning_rate: 1e-4, schedule.warmup_steps: 100, "
            "checkpoint.save_interval_steps: 2}\neval: {batch_size: 4}\n"));
  }
  Recipe recipe(const std::string& out, std::vector<std::string> settings = {}) const {
    settings.push_back("out=" + dir_.file(out));
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string refusal(const std::vector<std::string>& settings) const {
    return error_of<UsageError>([&] { run_recipe(recipe("refused", settings)); });
  }
  std::ptrdiff_t times() const { return std::ranges::count(io::read_file(dir_.file("ran")), '\n'); }
  std::string weights(const std::string& out) const {
    return stored_values(dir_.file(out + "/model"), 4);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(RowCommands, RunOnceAndReuseTheirRows) {
  run_recipe(recipe("cut", {"train.steps=2"}));
  const std::string kept = io::read_file(dir_.file("cut/rows/train.jsonl"));
  run_recipe(recipe("cut"));
  EXPECT_EQ(times(), 1);
  EXPECT_EQ(io::read_file(dir_.file("cut/rows/train.jsonl")), kept);
  EXPECT_THAT(log_.text(), HasSubstr("rows: data.train: 12 rows in"));
  EXPECT_THAT(io::read_file(dir_.file("cut/recipe.yaml")), HasSubstr("train: \"!sh "));
  run_recipe(recipe("whole", {"data.train=" + dir_.file("cut/rows/train.jsonl")}));
  EXPECT_EQ(weights("cut"), weights("whole"));
  // If the stored rows are lost, the command prints different ones.
  io::write_file(dir_.file("cut/rows/train.jsonl"), kept + kept);
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe("cut", {"train.steps=6"})); }),
              HasSubstr("data"));
  EXPECT_EQ(times(), 2);
}

TEST_F(RowCommands, RunAgainIfTheScriptChangesButNotIfItIsDeleted) {
  run_recipe(recipe("m"));
  io::write_file(dir_.file("set.sh"), str(kScript, "# changed\n"));
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(recipe("m", {"train.steps=6"})); }),
              HasSubstr("contains a model of other data: script."));
  EXPECT_THAT(error_of<UsageError>(
                  [&] { run_recipe(recipe("m", {"data.train=!sh other.sh", "train.steps=6"})); }),
              HasSubstr("contains a model of other data: data.train was"));
  io::remove_file(dir_.file("set.sh"));
  run_recipe(recipe("m", {"train.steps=6"}));
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("m/model")), 6);
  EXPECT_EQ(times(), 1);
}

TEST_F(RowCommands, GiveAllTrialsTheSameRows) {
  run_trials({.recipe = dir_.file("r.yaml"),
              .settings = {"out=" + dir_.file("t"), "train.steps=2"},
              .seeds = 2,
              .grid = {},
              .against = {},
              .resample = {.samples = 20}});
  EXPECT_EQ(times(), 1);
}

TEST_F(RowCommands, RejectsInvalidSettings) {
  EXPECT_THAT(refusal({"data.train=!false"}), HasSubstr("data.train: 'false' ended with status 1"));
  EXPECT_THAT(refusal({"data.train=! "}), HasSubstr("data.train is '!' without a command"));
  EXPECT_THAT(refusal({"data.format=tsv"}),
              HasSubstr("data.format is tsv, but data.train is a command"));
  io::write_file(dir_.file("tag.yaml"),
                 "data:\n  train: !./my.py train\nmodel: {type: classify}\n");
  EXPECT_THAT(error_of<UsageError>([&] { load_recipe(dir_.file("tag.yaml"), {}); }),
              HasSubstr("tag.yaml:2: data.train begins with !./my.py, which YAML interprets as a "
                        "tag\n  hint: write the value in quotes: train: '!./my.py train'"));
}

}  // namespace
}  // namespace smelt::pipeline
