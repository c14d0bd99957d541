// smelt electra run_pretraining: the original's hyper-parameters, files and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/electra_hparams.h"
#include "cli/electra_log.h"
#include "store/file.h"
#include "store/folder.h"
#include "support/error_of.h"
#include "support/oracle.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

ElectraHparams parsed(const std::string& text) {
  return parse_electra_hparams(text, "D", "M").hparams;
}
std::string refusal(const std::string& text) {
  return error_of([&] { electra_task_settings(parsed(text)); });
}

TEST(ElectraHparamsTest, AreTheOriginalsByDefault) {
  const ElectraHparams h = parsed("{}");
  EXPECT_EQ(h.pretrain_tfrecords, "D/pretrain_tfrecords/pretrain_data.tfrecord*");
  EXPECT_EQ(h.vocab_file, "D/vocab.txt");
  EXPECT_EQ(h.model_dir, "D/models/M");
  EXPECT_EQ(h.results_txt, "D/models/M/results/unsup_results.txt");
  EXPECT_EQ(h.learning_rate, 5e-4);
  EXPECT_EQ(h.train_batch_size, 128);
  EXPECT_EQ(h.num_train_steps, 1000000);
  const ElectraTask task = electra_task_settings(h);
  EXPECT_EQ(electra_embedding_size(task.model), 128);
  EXPECT_EQ(generator_config(task.model).hidden_size, 64);
  EXPECT_EQ(task.masking().most, 19);
}

TEST(ElectraHparamsTest, LargerModelsGetThePapersValuesUnlessTheyAreGiven) {
  const ElectraRunConfig base = parse_electra_hparams(R"({"model_size": "base"})", "D", "M");
  EXPECT_THAT(base.of_size,
              ElementsAre("embedding_size 768", "generator_hidden_size 0.33333",
                          "learning_rate 0.0002", "max_seq_length 512", "train_batch_size 256"));
  EXPECT_EQ(generator_config(electra_task_settings(base.hparams).model).hidden_size, 256);
  const ElectraRunConfig large =
      parse_electra_hparams(R"({"model_size": "large", "train_batch_size": 64})", "D", "M");
  EXPECT_THAT(large.of_size, ElementsAre("embedding_size 1024", "learning_rate 0.0002",
                                         "mask_prob 0.25", "max_seq_length 512"));
  EXPECT_EQ(large.hparams.train_batch_size, 64);
  EXPECT_EQ(electra_task_settings(large.hparams).masking().most, 130);
}

TEST(ElectraHparamsTest, DebugIsASmallModelForAFewSteps) {
  const ElectraRunConfig run = parse_electra_hparams(
      R"({"debug": true, "model_size": "base", "num_train_steps": 7})", "D", "M");
  EXPECT_EQ(run.hparams.num_train_steps, 7);
  EXPECT_EQ(run.hparams.train_batch_size, 8);
  EXPECT_EQ(run.hparams.eval_batch_size, 4);
  EXPECT_EQ(run.hparams.num_eval_steps, 2);
  EXPECT_EQ(run.hparams.iterations_per_loop, 1);
  EXPECT_THAT(run.of_size, Not(testing::Contains(HasSubstr("train_batch_size"))));
  const BertConfig model = discriminator_config(electra_task_settings(run.hparams).model);
  EXPECT_EQ(model.num_hidden_layers, 3);
  EXPECT_EQ(model.hidden_size, 144);
  EXPECT_EQ(model.intermediate_size, 576);
  EXPECT_EQ(model.num_attention_heads, 4);
}

TEST(ElectraHparamsTest, AreTakenAsPythonTakesThem) {
  const ElectraHparams h = parsed(
      R"({"num_train_steps": 1e6, "keep_checkpoint_max": null, "embedding_size": null,
          "tpu_name": null, "model_hparam_overrides": {"hidden_size": 128, "num_hidden_layers": 3}})");
  EXPECT_EQ(h.num_train_steps, 1000000);
  EXPECT_EQ(h.keep_checkpoint_max, 0);
  const BertConfig model = discriminator_config(electra_task_settings(h).model);
  EXPECT_EQ(model.hidden_size, 128);
  EXPECT_EQ(model.num_hidden_layers, 3);
  EXPECT_EQ(model.num_attention_heads, 2);
  EXPECT_EQ(model.intermediate_size, 512);
  const TempDir dir;
  write_file(dir.file("h.json"), R"({"temperature": 0.5})");
  EXPECT_EQ(parsed(dir.file("h.json")).objective.temperature, 0.5);
}

TEST(ElectraHparamsTest, WrongOnesAreNamed) {
  EXPECT_THAT(refusal("{\n 'debug': true}"),
              AllOf(HasSubstr("--hparams: no JSON at line 2, column 2"), HasSubstr("hint: give")));
  EXPECT_THAT(refusal(R"({"debug": true, "model_hparam_overrides": {"debug": 1}, "debug": false})"),
              AllOf(HasSubstr("--hparams: 'debug' is given twice"), HasSubstr("give it once")));
  EXPECT_THAT(refusal("[1]"), HasSubstr("--hparams: JSON, but array instead of an object"));
  EXPECT_THAT(refusal(R"({"learning_rat": 1})"),
              AllOf(HasSubstr("--hparams: 'learning_rat' is unknown"),
                    HasSubstr("did you mean 'learning_rate'?")));
  EXPECT_THAT(refusal(R"({"learning_rate": "1"})"),
              HasSubstr("--hparams: learning_rate is \"1\", not a number"));
  EXPECT_THAT(refusal(R"({"train_batch_size": 1.5})"),
              HasSubstr("train_batch_size is 1.5, not a whole number"));
  EXPECT_THAT(refusal(R"({"use_tpu": "yes"})"), HasSubstr("use_tpu is \"yes\", not true or false"));
  EXPECT_THAT(refusal(R"({"debug": 1, "model_size": 7})"), HasSubstr("debug is 1, not true or"));
  EXPECT_THAT(refusal(R"({"train_batch_size": 0})"),
              HasSubstr("train_batch_size is 0, must be at least 1"));
  EXPECT_THAT(refusal(R"({"learning_rate": -1})"), HasSubstr("learning_rate is -1, must be at"));
  EXPECT_THAT(refusal(R"({"model_size": "smal"})"),
              AllOf(HasSubstr("--hparams: model_size 'smal' is unknown"), HasSubstr("'small'?")));
  EXPECT_THAT(refusal(R"({"model_hparam_overrides": 3})"),
              HasSubstr("--hparams: model_hparam_overrides is 3, not an object"));
  EXPECT_THAT(refusal(R"({"model_hparam_overrides": {"hiden_size": 3}})"),
              AllOf(HasSubstr("model_hparam_overrides: 'hiden_size' is unknown"),
                    HasSubstr("did you mean 'hidden_size'?")));
  EXPECT_THAT(refusal(R"({"model_hparam_overrides": {"hidden_size": "3"}})"),
              HasSubstr("model_hparam_overrides: hidden_size is \"3\", not a whole number"));
  EXPECT_THAT(refusal(R"({"do_eval": true})"),
              AllOf(HasSubstr("do_train and do_eval are both true"), HasSubstr("evaluates")));
  EXPECT_THAT(refusal(R"({"do_train": false})"), HasSubstr("do_train and do_eval are both false"));
}

// What the original's hook prints of the same numbers.
TEST(ElectraLog, LinesAreTheOriginals) {
  EXPECT_EQ(electra_log_line(
                {.step = 300, .total = 1000, .first_step = 100, .seconds = 64.5, .loss = 41.25127}),
            "300/1000 = 30.0%, SPS: 3.1, ELAP: 1:04, ETA: 3:46 - loss: 41.2513");
  const auto elapsed = [](double seconds) {
    const std::string line = electra_log_line({.step = 1, .total = 1, .seconds = seconds});
    return line.substr(line.find("ELAP: "), line.find(", ETA") - line.find("ELAP: "));
  };
  for (const auto& [seconds, text] : {std::pair{0.5, "0"},
                                      {5., "5"},
                                      {59.6, "1:00"},
                                      {65., "1:05"},
                                      {600., "10:00"},
                                      {3600., "1:00:00"},
                                      {3725., "1:02:05"},
                                      {36000., "10:00:00"},
                                      {90065., "1 day, 1:01:05"},
                                      {172800., "2 days, 0:00:00"}})
    EXPECT_EQ(elapsed(seconds), str("ELAP: ", text));
}

class ElectraRun : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    write_file(data("vocab.txt"), read_file(golden("vocab_uncased.txt")));
  }
  static std::string golden(const std::string& name) {
    return source_path("tests/golden/pretraining/" + name);
  }
  std::string data(const std::string& name) const { return dir_.file("data/" + name); }
  // A tiny model on sequences of 16, with `more` over it.
  static json tiny(const json& more) {
    json h = {{"vocab_size", 345},
              {"max_seq_length", 16},
              {"embedding_size", 16},
              {"model_hparam_overrides", {{"hidden_size", 32}, {"num_hidden_layers", 1}}},
              {"train_batch_size", 4},
              {"eval_batch_size", 4},
              {"num_warmup_steps", 2},
              {"iterations_per_loop", 2},
              {"save_checkpoints_steps", 3},
              {"num_train_steps", 6}};
    h.update(more);
    return h;
  }
  CommandOutput pretrain(const json& more = json::object(), const std::string& flags = "",
                         const std::string& model = "m") const {
    write_file(dir_.file("h.json"), tiny(more).dump());
    return run_command(str(SMELT_PROGRAM, " electra run_pretraining --model-name ", model,
                           " --data-dir ", dir_.file("data"), " --hparams ", dir_.file("h.json"),
                           " ", flags));
  }
  CommandOutput ask(const std::string& what) const {
    return run_command(str(SMELT_PROGRAM, " electra ", what, " --data-dir ", dir_.file("data"),
                           " --model-name m"));
  }
  void make_data() const {
    write_file(dir_.file("corpus/english.txt"), read_file(golden("english.txt")));
    const CommandOutput made = run_command(
        str(SMELT_PROGRAM, " electra build_pretraining_dataset --max-seq-length 16 --corpus-dir ",
            dir_.file("corpus"), " --vocab-file ", data("vocab.txt"), " --output-dir ",
            data("pretrain_tfrecords")));
    ASSERT_EQ(made.status, 0) << made.text;
  }
  // Three files of the original's, of 128 tokens of a cased vocabulary.
  void take_the_originals_data() const {
    for (const int i : {0, 1, 2}) {
      const std::string name = str("pretrain_data.tfrecord-", i, "-of-1000");
      write_file(data("pretrain_tfrecords/" + name),
                 read_file(source_path("tests/golden/electra/" + name)));
    }
  }
  TempDir dir_;
};

constexpr const char* kResults[] = {"disc_accuracy",  "disc_auc",
                                    "disc_loss",      "disc_precision",
                                    "disc_recall",    "global_step",
                                    "loss",           "masked_lm_accuracy",
                                    "masked_lm_loss", "sampled_masked_lm_accuracy"};

TEST_F(ElectraRun, FromTextToResultsAndOn) {
  make_data();
  const CommandOutput trained = pretrain();
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, AllOf(HasSubstr("2/6 = 33.3%, SPS: "), HasSubstr("6/6 = 100.0%, "),
                                  HasSubstr(", ELAP: 0"), HasSubstr(" - loss: ")));
  for (const int step : {3, 6})
    EXPECT_TRUE(exists(data(str("models/m/checkpoint-", step, "/COMMIT"))));

  const CommandOutput evaluated = pretrain({{"do_train", false}, {"do_eval", true}});
  ASSERT_EQ(evaluated.status, 0) << evaluated.text;
  const std::string text = read_file(data("models/m/results/unsup_results.txt"));
  EXPECT_THAT(evaluated.text, HasSubstr(text));
  const json figures = json::parse(read_file(data("models/m/results/unsup_results.json")));
  std::string pattern;
  for (const char* name : kResults) {
    EXPECT_TRUE(figures.contains(name)) << name;
    pattern += str(name, " = [0-9.e-]+\n");
  }
  EXPECT_THAT(text, MatchesRegex(pattern));
  EXPECT_EQ(figures["global_step"], 6);

  const CommandOutput further = pretrain({{"num_train_steps", 9}, {"keep_checkpoint_max", 1}});
  ASSERT_EQ(further.status, 0) << further.text;
  EXPECT_THAT(further.text,
              AllOf(HasSubstr("num_train_steps is raised from 6 to 9"),
                    HasSubstr("goes on at 0.000167, not 0.0005; --rescale-learning-rate makes it"),
                    HasSubstr("(learning_rate 0.0015)"), HasSubstr("resuming from "),
                    HasSubstr("9/9 = 100.0%")));
  EXPECT_FALSE(exists(data("models/m/checkpoint-6")));
  const CommandOutput rescaled = pretrain({{"num_train_steps", 12}}, "--rescale-learning-rate");
  EXPECT_THAT(rescaled.text,
              AllOf(HasSubstr("learning_rate 0.002 instead of 0.0005: the 3 steps after 9 begin "),
                    HasSubstr("12/12 = 100.0%"), Not(HasSubstr("is raised from"))));
  // As after a kill.
  remove_tree(data("models/m/checkpoint-12"));
  const CommandOutput again = pretrain({{"num_train_steps", 12}}, "--rescale-learning-rate");
  EXPECT_THAT(again.text, AllOf(HasSubstr("learning_rate 0.002 instead of 0.0005"),
                                HasSubstr("12/12 = 100.0%")));
}

TEST_F(ElectraRun, ATrainedModelAnswersAndIsGoneOnWith) {
  make_data();
  EXPECT_THAT(
      ask("detect --text a").text,
      AllOf(HasSubstr("detect: "), HasSubstr("models/m/hparams.json is not there: no run has"),
            HasSubstr("hint: correct --data-dir and --model-name, or give")));
  ASSERT_EQ(pretrain({{"num_train_steps", 2}}).status, 0);

  const CommandOutput found = ask("detect --text 'The river' --threshold 0 --json 2>/dev/null");
  ASSERT_EQ(found.status, 0) << found.text;
  EXPECT_EQ(json::parse(found.text)["tokens"].back()["offsets"][1], 9);
  const CommandOutput filled = ask("fill --text 'the [MASK]' --top 2");
  EXPECT_EQ(filled.status, 0) << filled.text;
  EXPECT_THAT(filled.text, HasSubstr("the [MASK]\n    "));
  EXPECT_THAT(ask("detect --text a --hparams '{}'").text, HasSubstr("vocab_size is 30522, but "));

  const std::string init = "--init " + data("models/m");
  const CommandOutput begun = pretrain({{"num_train_steps", 1}}, init, "n");
  EXPECT_EQ(begun.status, 0) << begun.text;
  EXPECT_THAT(begun.text, AllOf(HasSubstr("weights of " + data("models/m/checkpoint-2:\n")),
                                HasSubstr("  taken "), Not(HasSubstr("fresh"))));
  EXPECT_THAT(pretrain({{"do_train", false}, {"do_eval", true}}, init).text,
              HasSubstr("--init: do_eval evaluates the model's own checkpoint\n  hint: leave"));
}

TEST_F(ElectraRun, HintsAreInItsOwnWords) {
  make_data();
  const CommandOutput diverged = pretrain({{"learning_rate", 1e38}, {"num_warmup_steps", 0}});
  EXPECT_EQ(diverged.status, 1);
  EXPECT_THAT(diverged.text, HasSubstr("hint: lower learning_rate or raise num_warmup_steps; "));
  EXPECT_THAT(pretrain(json::object(), "--devices 2 --mesh data=3").text,
              HasSubstr("--mesh 'data=3' has 3 devices, --devices are 2"));
  EXPECT_THAT(pretrain(json::object(), "--save layers").text, HasSubstr("--save 'layers'"));
  ASSERT_EQ(pretrain({{"num_train_steps", 1}}).status, 0);
  EXPECT_THAT(pretrain({{"do_train", false}, {"do_eval", true}, {"eval_batch_size", 100000}}).text,
              HasSubstr("hint: lower eval_batch_size, or give more examples"));
}

TEST_F(ElectraRun, ReadsTheOriginalsFilesAsTheyAre) {
  take_the_originals_data();
  const std::string vocab = read_file(golden("vocab_cased.txt"));
  write_file(data("vocab.txt"), vocab);
  const auto lines = std::ranges::count(vocab, '\n');
  const json debug = {{"vocab_size", lines},
                      {"max_seq_length", 128},
                      {"debug", true},
                      {"num_train_steps", 2},
                      {"train_batch_size", 2}};
  const CommandOutput trained = pretrain(debug);
  ASSERT_EQ(trained.status, 0) << trained.text;
  EXPECT_THAT(trained.text, HasSubstr("2/2 = 100.0%"));
  const CommandOutput again = pretrain(debug);
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.text, AllOf(HasSubstr("debug: "), HasSubstr("models/m is not empty"),
                                HasSubstr("hint: give --overwrite")));
}

TEST_F(ElectraRun, SaysWhatDoesNotFit) {
  const auto refused = [&](const json& more, const std::string& flags = "") {
    const CommandOutput output = pretrain(more, flags);
    EXPECT_EQ(output.status, 2) << output.text;
    return output.text;
  };
  EXPECT_THAT(refused(json::object()),
              AllOf(HasSubstr("pretrain_tfrecords: no file matches '"),
                    HasSubstr("pretrain_data.tfrecord*'"), HasSubstr("hint: ")));
  take_the_originals_data();
  EXPECT_THAT(refused(json::object()), HasSubstr("record 0: input_ids has 128 values, not 16"));
  EXPECT_THAT(refused({{"vocab_size", 30522}}),
              AllOf(HasSubstr("--hparams: vocab_size is 30522, but "),
                    HasSubstr("vocab.txt has 345 lines\n  hint: give \"vocab_size\": 345")));
  EXPECT_THAT(refused({{"generator_hidden_size", 2}}),
              AllOf(HasSubstr("the generator's hidden size 64 is larger than the discriminator's "
                              "32, whose embeddings it shares"),
                    HasSubstr("untied_generator_embeddings")));
  EXPECT_THAT(refused({{"do_train", false}, {"do_eval", true}}),
              AllOf(HasSubstr("eval: no checkpoint in "), HasSubstr("hint: train first")));
  EXPECT_THAT(refused(json::object(), "--rescale-learning-rate"),
              AllOf(HasSubstr("--rescale-learning-rate: "),
                    HasSubstr("holds no finished run of fewer steps than 6")));
  EXPECT_THAT(refused({{"vocab_file", data("none.txt")}}), HasSubstr("none.txt"));
  const std::string cased = read_file(golden("vocab_cased.txt"));
  write_file(data("vocab.txt"), cased);
  EXPECT_THAT(refused({{"train_batch_size", 5},
                       {"max_seq_length", 128},
                       {"vocab_size", std::ranges::count(cased, '\n')}},
                      "--devices 2"),
              HasSubstr("a batch of 5 examples does not divide over 2 devices"));
}

}  // namespace
}  // namespace smelt
