// Commands that need nothing but a run's folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/folder_lock.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    std::string text;
    for (int document = 0; document < 40; ++document) {
      for (int i = 0; i < 8; ++i)
        text += str("the ", (document * i) % 3 == 0 ? "cat" : "dog", " sees house ", i % 5, ".\n");
      text += "\n";
    }
    io::write_file(dir_.file("text.txt"), text);
    io::write_file(
        dir_.file("r.yaml"),
        "text: {sentences: lines, dedup: none, heldout: 0.2}\nvocab: {size: 60}\n"
        "data: {seq_length: 32, max_predictions: 5}\nmodel: {hidden_size: 16, "
        "num_hidden_layers: 1, num_attention_heads: 2,\n  intermediate_size: 32, "
        "max_position_embeddings: 32}\ntrain: {batch_size: 8, steps: 4, schedule.warmup_steps: 2, "
        "checkpoint.save_interval_steps: 2, logging_steps: 2}\neval: {batch_size: 4}\n");
  }
  CommandOutput in(const std::string& folder, const std::string& arguments) const {
    return run_command(str("cd ", dir_.file(folder), " && ", smelt_program(), " ", arguments));
  }
  void make_run() const {
    const CommandOutput made = in(".", "run r.yaml --set out=mine --set text.input='tex*.txt'");
    ASSERT_EQ(made.status, 0) << made.text;
    EXPECT_THAT(made.text, AllOf(HasSubstr("next:\n  smelt fill mine --text "),
                                 HasSubstr("\n  smelt run mine --set train.steps=8 ")));
  }

  TempDir dir_;
};

TEST_F(RunFolder, ResumesFromAnyFolderAndAfterAMove) {
  make_run();
  fs::create_directory(dir_.file("sub"));
  const CommandOutput same = in("sub", "run ../mine");
  EXPECT_EQ(same.status, 0) << same.text;
  for (const char* stage : {"text", "vocab", "data", "train", "eval", "export"})
    EXPECT_THAT(same.text, HasSubstr(str(stage, ": up to date")));
  fs::rename(dir_.file("mine"), dir_.file("sub/moved"));
  const CommandOutput longer = in("sub", "run moved/ --set train.steps=6");
  EXPECT_EQ(longer.status, 0) << longer.text;
  EXPECT_THAT(longer.text, AllOf(HasSubstr("data: up to date"), HasSubstr("step 6/6")));
  EXPECT_FALSE(io::exists(dir_.file("mine")));
  EXPECT_THAT(in(".", "eval sub/moved --json").text, HasSubstr("\"global_step\":6"));
  EXPECT_THAT(io::read_file(dir_.file("sub/moved/recipe.yaml")), HasSubstr("  steps: 6\n"));
}

TEST_F(RunFolder, IsAcceptedByEveryCommandThatTakesARecipeOrModel) {
  make_run();
  for (const char* command :
       {"run mine", "run mine/recipe.yaml", "pretrain mine/model", "eval mine", "eval mine/model",
        "fill mine --text 'a [MASK]'", "fill mine --device cpu --text 'a [MASK]'",
        "export mine --out hf", "status mine", "status r.yaml --set out=mine", "report mine",
        "inspect mine", "convert mine tf/model.ckpt",
        "report r.yaml --set out=mine --out new/page.html",
        "run r.yaml --set train.init_from=mine --set out=second --set text.input='text.txt'"}) {
    const CommandOutput output = in(".", command);
    EXPECT_EQ(output.status, 0) << command << "\n" << output.text;
  }
  EXPECT_TRUE(io::exists(dir_.file("mine/report.html")));
  EXPECT_THAT(in(".", "report mine --out other/page.html").text,
              HasSubstr("report: other/page.html (other is a new folder)"));
  EXPECT_THAT(in(".", "report mine second").text,
              HasSubstr("report: a page about 2 runs needs a file name\n  hint: add a file name"));
  EXPECT_THAT(in(".", "status mine --set out=mine").text,
              HasSubstr("status: --set is only for recipes, but mine is a run\n  hint: remove it"));
}

TEST_F(RunFolder, PrintsMetricsThatCannotBeStored) {
  make_run();
  const auto filled =
      Json::parse(in(".", "fill mine --text 'a [mask]' --top 2 --json 2>/dev/null | cat").text);
  EXPECT_EQ(filled.at("masks").at(0).size(), 2u);
  EXPECT_TRUE(filled["masks"][0][0].at("token").is_string());
  io::remove_file(dir_.file("mine/model/eval_results.txt"));
  fs::create_directory(dir_.file("mine/model/eval_results.txt"));
  const CommandOutput told = in(".", "eval mine");
  EXPECT_EQ(told.status, 0);
  EXPECT_THAT(told.text, AllOf(HasSubstr("eval: the metrics could not be written: "),
                               HasSubstr("masked_lm_accuracy = ")));
}

TEST_F(RunFolder, EvaluatesOnAnyTextLikeItsExport) {
  make_run();
  const auto score = [&](const char* model) {
    const CommandOutput out =
        in(".", str("eval ", model, " --text text.txt --seq-length 16 --json 2>/dev/null | cat"));
    EXPECT_EQ(out.status, 0) << out.text;
    auto json = Json::parse(out.text);
    json.erase("global_step");  // the exported folder has none
    return json;
  };
  const auto of_run = score("mine");
  EXPECT_GT(of_run.at("examples"), 100);
  EXPECT_EQ(of_run.at("seq_length"), 16);
  EXPECT_GT(of_run.at("weights").at("masked_lm_accuracy"), 200);
  EXPECT_EQ(score("mine/model"), of_run);
  EXPECT_EQ(score("mine/huggingface"), of_run);
  EXPECT_THAT(
      in(".", "eval mine --text r.yaml").text,
      AllOf(HasSubstr("of 32 tokens, masks drawn by seed 12345\n"), HasSubstr("verdict: ")));
  EXPECT_THAT(in(".", "eval mine/huggingface").text,
              HasSubstr("mine/huggingface has no recipe.yaml, which names the data"));
  EXPECT_THAT(in(".", "eval mine --device cpu").text, HasSubstr("--device is only for --text"));
  EXPECT_THAT(in(".", "eval mine --follow --text text.txt").text,
              HasSubstr("--follow with --text"));
}

TEST_F(RunFolder, DoesNotStoreRejectedSettingsAndRestoresTheVocabulary) {
  make_run();
  const CommandOutput refused = in(".", "run mine --set train.batch_size=4");
  EXPECT_EQ(refused.status, 2) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("would have no effect: train.batch_size was 8, is 4"));
  const CommandOutput other = in(".", "train mine --set vocab.size=70 --set train.steps=6");
  EXPECT_EQ(other.status, 2) << other.text;
  EXPECT_THAT(other.text, HasSubstr("contains a model of other data: vocab.size was 60, is 70"));
  EXPECT_EQ(in(".", "run mine").status, 0);
  fs::rename(dir_.file("mine"), dir_.file("my run"));
  const CommandOutput spaced = in(".", "run 'my run' --set train.steps=2");  // stays at step 4
  EXPECT_THAT(spaced.text, HasSubstr("\n  smelt run 'my run' --set train.steps=8 "));
  fs::rename(dir_.file("my run"), dir_.file("mine"));
  fs::rename(dir_.file("mine/vocab.txt"), dir_.file("vocab.txt"));  // out of the run's folder
  const CommandOutput again = in(".", "run mine");
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_EQ(io::read_file(dir_.file("mine/vocab.txt")), io::read_file(dir_.file("vocab.txt")));
}

TEST_F(RunFolder, CleanListsLeftoversAndDeletesThemOnRequest) {
  make_run();
  io::write_file(dir_.file("mine/data/x.tfrecord.work/part"), "left");
  const auto clean = [&](const char* more) {
    return Json::parse(in(".", str("clean mine --json ", more)).text);
  };
  const auto paths_of = [](const Json& told) {
    std::vector<std::string> paths;
    for (const auto& leftover : told.at("leftovers")) paths.push_back(leftover.at("path"));
    return paths;
  };
  const std::string kept = io::read_file(dir_.file("mine/recipe.yaml"));
  std::string longer = kept;
  longer.replace(longer.find("  steps: 4\n"), 11, "  steps: 9\n");
  io::write_file(dir_.file("mine/recipe.yaml"), longer);  // a longer run still needs its data
  EXPECT_EQ(paths_of(clean("")),
            (std::vector<std::string>{"mine/model/checkpoint-2", "mine/data/x.tfrecord.work"}));
  io::write_file(dir_.file("mine/recipe.yaml"), kept);
  const auto said = clean("");
  const auto paths = paths_of(said);
  EXPECT_THAT(paths,
              testing::IsSupersetOf({"mine/model/checkpoint-2", "mine/text",
                                     "mine/data/train.tfrecord", "mine/data/x.tfrecord.work"}));
  EXPECT_THAT(paths, testing::Each(Not(HasSubstr("heldout"))));
  EXPECT_THAT(in(".", "clean mine </dev/null").text, HasSubstr(" would be freed; --yes removes"));
  {
    const io::FolderLock lock(dir_.file("mine/model"), "train");
    EXPECT_THAT(in(".", "clean mine --yes").text, HasSubstr("mine/model is in use by "));
  }
  EXPECT_EQ(clean("--yes"), said);
  for (const std::string& path : paths) EXPECT_FALSE(io::exists(dir_.file(path))) << path;
  EXPECT_EQ(clean("").at("bytes"), 0);
  EXPECT_EQ(in(".", "eval mine").status, 0);
  EXPECT_EQ(in(".", "fill mine --text 'a [MASK]'").status, 0);
  const CommandOutput again = in(".", "run mine --set train.steps=6");  // makes its data again
  EXPECT_EQ(again.status, 0) << again.text;
  EXPECT_THAT(again.text, HasSubstr("step 6/6"));
  EXPECT_THAT(in(".", "clean mine/huggingface").text,
              HasSubstr("clean: mine/huggingface is not a run's folder"));
}

TEST_F(RunFolder, ExportKeepsTheUsersFiles) {
  make_run();
  io::write_file(dir_.file("mine/huggingface/README.md"), "my card");
  EXPECT_THAT(in(".", "run mine").text, HasSubstr("export: up to date"));
  EXPECT_THAT(in(".", "run mine --set train.steps=6").text, HasSubstr("export: started again"));
  EXPECT_EQ(io::read_file(dir_.file("mine/huggingface/README.md")), "my card");
  EXPECT_FALSE(io::exists(dir_.file("mine/huggingface.yours")));
}

TEST_F(RunFolder, ResumesWithoutItsInitialWeights) {
  make_run();
  fs::rename(dir_.file("mine"), dir_.file("first"));
  ASSERT_EQ(
      in(".", "run r.yaml --set train.init_from=first --set out=second --set text.input=text.txt")
          .status,
      0);
  fs::remove_all(dir_.file("first"));
  EXPECT_THAT(in(".", "run second --dry-run").text, HasSubstr("missing; using the run's own copy"));
  const CommandOutput longer = in(".", "run second --set train.steps=6");
  EXPECT_EQ(longer.status, 0) << longer.text;
  EXPECT_THAT(longer.text, HasSubstr("step 6/6"));
}

TEST_F(RunFolder, SuggestsTheCommandThatTrainsAMissingCheckpoint) {
  make_run();
  fs::remove_all(dir_.file("mine/model"));
  for (const char* command : {"fill mine --text 'a [MASK]'", "eval mine", "export mine --out x",
                              "inspect mine", "fill mine --device cpu --text 'a [MASK]'"}) {
    const CommandOutput output = in(".", command);
    EXPECT_EQ(output.status, 2) << output.text;
    EXPECT_THAT(output.text, HasSubstr("mine: no checkpoint yet\n  hint: `smelt run mine` trains"));
  }
  fs::remove_all(dir_.file("mine/.stages"));
  EXPECT_THAT(in(".", "run mine").text, HasSubstr("mine: contains recipe.yaml but not .stages"));
  EXPECT_THAT(
      in(".", "run r.yaml --dry-run --set eval.every=2 --set train.checkpoint.best_metric=los")
          .text,
      HasSubstr("train.checkpoint.best_metric is 'los', which the evaluation does not report"));
  EXPECT_THAT(in(".", "run .").text,
              HasSubstr(".: the folder contains no recipe.yaml of a run\n  hint: name"));
}

}  // namespace
}  // namespace smelt::cli
