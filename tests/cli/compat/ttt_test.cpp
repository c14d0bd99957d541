// smelt ttt: the recipe that it makes from the original's flags, a small run from tweets to
// reports, and its messages.
#include <gtest/gtest.h>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "cli/compat/ttt_recipe.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/load_recipe.h"
#include "runs/golden_classify.h"
#include "support/command.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Returns labeled tweets, one JSON line each, with words of the golden vocabulary.
std::string tweets(int first, int last) {
  std::string out;
  for (int i = first; i < last; ++i)
    out += str(R"({"text": ")", i % 2 == 0 ? "cat w" : "dog w", 8 + i % 11, R"( bird", "label": ")",
               i % 2 == 0 ? "INFORMATIVE" : "UNINFORMATIVE", "\"}\n");
  return out;
}

class Ttt : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    GoldenClassify("bert").write_folder(dir_.file("bert"));
    for (const auto& [name, first, last] :
         {std::tuple{"train", 0, 24}, std::tuple{"val", 24, 34}, std::tuple{"test", 34, 40}})
      io::write_file(dir_.file(str("data/covid/", name, ".json")), tweets(first, last));
  }
  TttFlags flags() const {
    TttFlags f;
    f.model_select = dir_.file("bert");
    f.data_path = dir_.file("data/covid");
    f.task = "single-label-cls";
    f.max_seq_length = 8;
    f.do_train = true;
    return f;
  }
  std::string refusal(const TttFlags& f) const {
    return error_of<UsageError>([&] { ttt_recipe(f, "cpu", 1); });
  }
  std::string command(const std::string& more) const {
    return str("ttt --model_select ", dir_.file("bert"), " --data_path ", dir_.file("data/covid"),
               " --task single-label-cls --output_path ", dir_.file("run"),
               " --max_seq_length 8 --num_epochs_train 2 --log_steps 2 --device cpu ", more);
  }

  TempDir dir_;
};

TEST_F(Ttt, BuildsARecipeWithTheOriginalDefaults) {
  TttFlags f = flags();
  f.do_eval = true;
  auto r = ttt_recipe(f, "tpu", 8);
  EXPECT_EQ(r["out"], str("tmp/bert_single-label-cls_",
                          // the absolute path without its first slash
                          [&] {
                            std::string rest = f.data_path.substr(1);
                            std::ranges::replace(rest, '/', '-');
                            return rest;
                          }()));
  EXPECT_EQ(r["train.batch_size"], "64");
  EXPECT_EQ(r["train.epochs"], "6");
  EXPECT_EQ(r["train.optimizer.learning_rate"], "0.001");
  EXPECT_EQ(r["train.schedule.type"] + r["train.schedule.warmup_steps"], "constant0");
  EXPECT_EQ(r["train.checkpoint.best_metric"], "accuracy");
  EXPECT_EQ(r["eval.every"] + " " + r["train.checkpoint.max_to_keep"] + " " +
                r["train.early_stopping.patience"],
            "400 3 20");
  EXPECT_EQ(r["data.validation"], dir_.file("data/covid/val.json"));
  // In the original a typo keeps the learning rate of this scheduler at 0.
  f.scheduler = "warmupconstant";
  r = ttt_recipe(f, "cpu", 1);
  EXPECT_EQ(r["train.schedule.type"] + r["train.schedule.warmup_ratio"], "constant0.1");
  f.scheduler = "warmuplinear";
  f.log_steps = -1;
  r = ttt_recipe(f, "cpu", 1);
  EXPECT_EQ(r["train.schedule.type"] + r["train.schedule.warmup_ratio"], "linear0.1");
  EXPECT_EQ(r["eval.every_epochs"], "1");
  f.warmup_ratio = 0;
  r = ttt_recipe(f, "cpu", 1);
  EXPECT_EQ(r["train.schedule.type"] + r["train.schedule.warmup_steps"], "linear0");
  EXPECT_FALSE(r.contains("train.schedule.warmup_ratio"));
  f.scheduler = "constantlinear";
  f.warmup_ratio = 1;
  EXPECT_EQ(ttt_recipe(f, "cpu", 1)["train.schedule.type"], "constant");
  f.warmup_ratio = 0.1;
  EXPECT_EQ(
      pipeline::recipe_of(ttt_recipe(f, "cpu", 1), "ttt", {"train.epochs=0", "train.steps=100"})
          .train.schedule.decay_steps,
      90);
}

TEST_F(Ttt, TrainsEvaluatesAndTests) {
  const CommandOutput trained = run_smelt(command("--do_train --do_eval --schedule warmuplinear"));
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, AllOf(HasSubstr("val_eval_report:"), HasSubstr("UNINFORMATIVE"),
                                  HasSubstr("weighted avg"), HasSubstr("val_eval_acc: 0.")));
  // Two epochs of 24 examples in batches of 8 are 6 steps.
  EXPECT_EQ(checkpoint::latest_checkpoint(dir_.file("run/model")), 6);
  const auto best = Json::parse(io::read_file(dir_.file("run/best_metrics.json")));
  EXPECT_EQ(best["examples"], 10);
  EXPECT_EQ(Json::parse(io::read_file(dir_.file("run/args.json")))["max_seq_length"], 8);
  EXPECT_TRUE(io::exists(dir_.file("run/huggingface/model.safetensors")));
  const CommandOutput tested = run_smelt(command("--do_test"));
  ASSERT_EQ(tested.status, 0) << tested.text;
  EXPECT_THAT(tested.text, HasSubstr("test_eval_acc: "));
  EXPECT_THAT(io::read_file(dir_.file("run/test_report.txt")), HasSubstr("         6"));
}

TEST_F(Ttt, TrainsOnAllRowsWithoutAValJson) {
  remove(dir_.file("data/covid/val.json").c_str());
  TttFlags f = flags();
  const auto r = ttt_recipe(f, "cpu", 1);
  EXPECT_EQ(r.at("data.validation_share"), "0");
  EXPECT_FALSE(r.contains("data.validation"));
  const CommandOutput trained = run_smelt(command("--do_train"));
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("24 examples to train on, none held out"));
  EXPECT_THAT(trained.text, testing::Not(HasSubstr("val_eval_report")));
  f.do_eval = true;
  EXPECT_THAT(refusal(f), AllOf(HasSubstr("--do_eval: "), HasSubstr("val.json does not exist")));
}

TEST_F(Ttt, EvaluatesATestJsonAddedLaterWithSetFields) {
  const std::string rows = io::read_file(dir_.file("data/covid/test.json"));
  remove(dir_.file("data/covid/test.json").c_str());
  const CommandOutput trained = run_smelt(command("--do_train"));
  ASSERT_EQ(trained.status, 0) << trained.text;
  io::write_file(dir_.file("data/covid/test.json"), rows);
  const CommandOutput tested = run_smelt(command("--do_test --set eval.batch_size=3"));
  ASSERT_EQ(tested.status, 0) << tested.text;
  EXPECT_THAT(tested.text, AllOf(HasSubstr("in 2 batches of 3"), HasSubstr("test_eval_acc: ")));
  expect_refusal(command("--do_test --set no.such.field=3"), HasSubstr("unknown field"));
}

TEST_F(Ttt, RejectsUnsupportedFlagsAndMissingFiles) {
  TttFlags f = flags();
  f.do_train = false;
  EXPECT_THAT(refusal(f), HasSubstr("ttt: nothing to do"));
  f.do_test = true;
  remove(dir_.file("data/covid/test.json").c_str());
  EXPECT_THAT(refusal(f), HasSubstr("test.json does not exist"));
  f = flags();
  f.model_select = "t5-small";
  EXPECT_THAT(refusal(f), HasSubstr("folder not found\n  hint: --model_select "
                                    "hf://google-t5/t5-small uses it from the Hugging Face Hub"));
  f.model_select = "roberta-base";
  EXPECT_THAT(refusal(f), HasSubstr("only BERT, ELECTRA and T5 are supported"));
  f = flags();
  f.task = "t2t";
  EXPECT_THAT(refusal(f),
              HasSubstr("bert, which is not a T5\n  hint: for a BERT or an ELECTRA use"));
  f = flags();
  f.data_path = dir_.file("nowhere");
  EXPECT_THAT(refusal(f), HasSubstr("nowhere: has no train.json"));
  f = flags();
  f.log_steps = 0;
  EXPECT_THAT(refusal(f),
              HasSubstr("--log_steps 0: must be a positive number of steps, or -1\n  hint: set"));
  f = flags();
  f.dataset_name = "glue";
  EXPECT_THAT(refusal(f), HasSubstr("smelt does not download datasets"));
  f = flags();
  f.eval_on = "bleu";
  EXPECT_THAT(refusal(f), HasSubstr("--eval_on bleu with --task single-label-cls"));
  f = flags();
  f.ck_index_select = -2;
  EXPECT_THAT(refusal(f), HasSubstr("--ck_index_select -2: must be 0 (the best checkpoint) or -1"));
  expect_refusal(command("--do_train --use_tpu"), HasSubstr("--use_tpu: this machine has no TPU"));
}

}  // namespace
}  // namespace smelt::cli
