// The original ELECTRA's hyper-parameters: defaults, kinds, messages.
#include "cli/compat/electra_hparams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

ElectraHparams parsed(const std::string& text) {
  return parse_electra_hparams(text, "D", "M").hparams;
}
std::string refusal(const std::string& text) {
  return error_of([&] { electra_task_settings(parsed(text)); });
}

TEST(ElectraHparamsTest, DefaultsMatchTheOriginal) {
  const ElectraHparams h = parsed("{}");
  EXPECT_EQ(h.pretrain_tfrecords, "D/pretrain_tfrecords/pretrain_data.tfrecord*");
  EXPECT_EQ(h.vocab_file, "D/vocab.txt");
  EXPECT_EQ(h.model_dir, "D/models/M");
  EXPECT_EQ(h.results_txt, "D/models/M/results/unsup_results.txt");
  EXPECT_EQ(h.learning_rate, 5e-4);
  EXPECT_EQ(h.train_batch_size, 128);
  EXPECT_EQ(h.num_train_steps, 1000000);
  const model::ElectraTask task = electra_task_settings(h);
  EXPECT_EQ(model::electra_embedding_size(task.model), 128);
  EXPECT_EQ(model::generator_config(task.model).hidden_size, 64);
  EXPECT_EQ(task.masking().most, 19);
}

TEST(ElectraHparamsTest, LargerModelsUseThePapersDefaults) {
  const ElectraRunConfig base = parse_electra_hparams(R"({"model_size": "base"})", "D", "M");
  EXPECT_THAT(base.of_size, ElementsAre("generator_hidden_size 0.33333", "learning_rate 0.0002",
                                        "max_seq_length 512", "train_batch_size 256"));
  EXPECT_EQ(model::electra_embedding_size(electra_task_settings(base.hparams).model), 768);
  EXPECT_EQ(model::generator_config(electra_task_settings(base.hparams).model).hidden_size, 256);
  const ElectraRunConfig large =
      parse_electra_hparams(R"({"model_size": "large", "train_batch_size": 64})", "D", "M");
  EXPECT_THAT(large.of_size,
              ElementsAre("learning_rate 0.0002", "mask_prob 0.25", "max_seq_length 512"));
  // In a large model the embedding size follows a changed hidden size, as in the original.
  const ElectraHparams narrow =
      parsed(R"({"model_size": "large", "model_hparam_overrides": {"hidden_size": 128}})");
  EXPECT_EQ(model::electra_embedding_size(electra_task_settings(narrow).model), 128);
  EXPECT_EQ(large.hparams.train_batch_size, 64);
  EXPECT_EQ(electra_task_settings(large.hparams).masking().most, 130);
}

TEST(ElectraHparamsTest, DebugSelectsASmallModelAndFewSteps) {
  const ElectraRunConfig run = parse_electra_hparams(
      R"({"debug": true, "model_size": "base", "num_train_steps": 7})", "D", "M");
  EXPECT_EQ(run.hparams.num_train_steps, 7);
  EXPECT_EQ(run.hparams.train_batch_size, 8);
  EXPECT_EQ(run.hparams.eval_batch_size, 4);
  EXPECT_EQ(run.hparams.num_eval_steps, 2);
  EXPECT_EQ(run.hparams.iterations_per_loop, 1);
  EXPECT_THAT(run.of_size, Not(testing::Contains(HasSubstr("train_batch_size"))));
  const model::BertConfig model =
      model::discriminator_config(electra_task_settings(run.hparams).model);
  EXPECT_EQ(model.num_hidden_layers, 3);
  EXPECT_EQ(model.hidden_size, 144);
  EXPECT_EQ(model.intermediate_size, 576);
  EXPECT_EQ(model.num_attention_heads, 4);
}

TEST(ElectraHparamsTest, AcceptsTheSameJsonAsPython) {
  const ElectraHparams h = parsed(
      R"({"num_train_steps": 1e6, "keep_checkpoint_max": null, "embedding_size": null,
          "tpu_name": null, "model_hparam_overrides": {"hidden_size": 128, "num_hidden_layers": 3}})");
  EXPECT_EQ(h.num_train_steps, 1000000);
  EXPECT_EQ(h.keep_checkpoint_max, 0);
  const model::BertConfig model = model::discriminator_config(electra_task_settings(h).model);
  EXPECT_EQ(model.hidden_size, 128);
  EXPECT_EQ(model.num_hidden_layers, 3);
  EXPECT_EQ(model.num_attention_heads, 2);
  EXPECT_EQ(model.intermediate_size, 512);
  const TempDir dir;
  io::write_file(dir.file("h.json"), R"({"temperature": 0.5, "continued_from": 3})");
  EXPECT_EQ(parsed(dir.file("h.json")).objective.temperature, 0.5);
}

TEST(ElectraHparamsTest, ReportsInvalidHparams) {
  EXPECT_THAT(
      refusal("{\n 'debug': true}"),
      AllOf(HasSubstr("--hparams: invalid JSON at line 2, column 2"), HasSubstr("hint: write")));
  EXPECT_THAT(refusal(R"({"debug": true, "model_hparam_overrides": {"debug": 1}, "debug": false})"),
              AllOf(HasSubstr("--hparams: 'debug' is given twice"), HasSubstr("give it once")));
  EXPECT_THAT(refusal(R"({"learning_rate": 1e999})"),
              AllOf(HasSubstr("--hparams: a number is out of range ("), HasSubstr("'1e999'")));
  EXPECT_THAT(refusal("[1]"), HasSubstr("--hparams: expected a JSON object, found array"));
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
  EXPECT_THAT(refusal(R"({"masks": "orignal"})"),
              HasSubstr("--hparams: masks 'orignal' is unknown\n  hint: did you mean 'original'?"));
  EXPECT_THAT(refusal(R"({"masks": 1})"), HasSubstr("--hparams: masks is 1, not a text"));
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
  for (const char* name : {"", ".", "..", "a/../..", "/a", "a//b"})
    EXPECT_THAT(error_of([&] { parse_electra_hparams("{}", "D", name); }),
                HasSubstr(str("--model-name '", name, "' is not the name of a folder in models/")));
  EXPECT_EQ(parse_electra_hparams("{}", "D", "a/b/").hparams.model_dir, "D/models/a/b/");
}

}  // namespace
}  // namespace smelt::cli
