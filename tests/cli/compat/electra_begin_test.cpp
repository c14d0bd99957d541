// Runs of smelt electra run_pretraining that begin with their own checkpoint, one of the original
// program, or the weights of another model.
#include <gmock/gmock.h>

#include "checkpoint/storage/checkpoint.h"
#include "cli/compat/electra_run_fixture.h"
#include "io/filesystem/folder.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The model folder has a checkpoint like those of the original, with optimizer slots and step.
TEST_F(ElectraRun, ResumesFromACheckpointOfTheOriginal) {
  make_data();
  ASSERT_EQ(pretrain({{"num_train_steps", 2}}).status, 0);
  for (const char* name : {"o", "p", "q"}) {
    const std::string prefix = data(str("models/", name, "/model.ckpt-2"));
    const CommandOutput converted = run_smelt(str("convert ", data("models/m"), " ", prefix));
    ASSERT_EQ(converted.status, 0) << converted.text;
  }
  const auto of_step_4 = [&](const char* name) {
    return io::read_file(
        data(str("models/", name, "/checkpoint-4/tensors-00000-of-00001.safetensors")));
  };
  const Json four = {{"num_train_steps", 4}};
  ASSERT_EQ(pretrain(four).status, 0);
  // A rejected command writes no checkpoint and no configuration to the folder.
  io::remove_file(data("models/o/electra_config.json"));
  const Json wrong = {{"embedding_size", 8}};
  EXPECT_EQ(pretrain(wrong, "", "o").status, 2);
  EXPECT_EQ(
      pretrain({{"embedding_size", 8}, {"do_train", false}, {"do_eval", true}}, "", "o").status, 2);
  EXPECT_FALSE(io::exists(data("models/o/checkpoint-2")));
  EXPECT_FALSE(io::exists(data("models/o/electra_config.json")));
  EXPECT_THAT(
      pretrain(four, "", "o").text,
      AllOf(HasSubstr("models/o/model.ckpt-2, a TensorFlow checkpoint of step 2\n"),
            HasSubstr("step 2 of another program's run is continued to 4 steps: the learning "
                      "rate decays over all steps and resumes at 0.00025, not 0.0005; "
                      "if that run was finished, --rescale-learning-rate makes it resume at "
                      "0.0005 (learning_rate 0.001)"),
            HasSubstr("4/4 = 100.0%")));
  EXPECT_EQ(of_step_4("o"), of_step_4("m"));

  const std::string rescaled =
      "learning_rate 0.001 instead of 0.0005: the 2 steps after step 2 begin at";
  EXPECT_THAT(pretrain(four, "--rescale-learning-rate", "p").text,
              AllOf(HasSubstr(rescaled), HasSubstr("4/4 = 100.0%")));
  io::remove_tree(data("models/p/checkpoint-4"));  // as if killed before saving
  EXPECT_THAT(pretrain(four, "--rescale-learning-rate", "p").text, HasSubstr(rescaled));
  EXPECT_NE(of_step_4("p"), of_step_4("m"));

  const Json evaluation = {{"do_train", false}, {"do_eval", true}, {"num_eval_steps", 1}};
  EXPECT_THAT(pretrain(evaluation, "", "q").text, HasSubstr("\nglobal_step = 2\n"));
  // The checkpoint that was taken over has the model's sizes; electra_config.json is not needed.
  io::write_file(data("models/q/vocab.txt"), io::read_file(data("vocab.txt")));
  io::remove_file(data("models/q/electra_config.json"));
  EXPECT_EQ(run_smelt(str("detect ", data("models/q"), " --text 'the river'")).status, 0);
  Json other = evaluation;
  other["model_hparam_overrides"] = {
      {"hidden_size", 32}, {"num_hidden_layers", 1}, {"num_attention_heads", 2}};
  EXPECT_THAT(pretrain(other, "", "q").text,
              HasSubstr("was made with num_attention_heads 0, this"));
}

TEST_F(ElectraRun, RejectsAFolderWithAnotherModelType) {
  make_data();
  checkpoint::save_checkpoint(data("models/b"), 1, {}, {{"task", "bert"}});
  EXPECT_THAT(pretrain(Json::object(), "", "b").text,
              HasSubstr("was made with the model type \"bert\", this run has \"electra\""));
}

TEST_F(ElectraRun, ReplaysANonFiniteStepWithoutTraining) {
  make_data();
  const Json wild = {{"learning_rate", 1e30}, {"num_warmup_steps", 0}};
  EXPECT_EQ(pretrain(wild).status, 1);
  std::string folder;
  for (const std::string& name : io::list_folder(data("models/m")))
    if (name.starts_with("bad-batch-")) folder = data("models/m/" + name);
  ASSERT_NE(folder, "");
  const std::string replay = "--replay " + folder;
  ASSERT_EQ(pretrain({{"num_train_steps", 1}}, "", "s").status, 0);
  ASSERT_EQ(run_smelt(str("convert ", data("models/s"), " ", data("models/o/model.ckpt-1"))).status,
            0);
  for (const auto& [more, flags, model] :
       {std::tuple{wild, "", "o"}, {wild, " --rescale-learning-rate", "m"}}) {
    const CommandOutput again = pretrain(more, replay + flags, model);
    EXPECT_EQ(again.status, 0) << again.text;
    EXPECT_THAT(again.text, HasSubstr("norm of the gradient "));
  }
  EXPECT_FALSE(io::exists(data("models/o/checkpoint-1")));
  EXPECT_THAT(pretrain({{"do_train", false}, {"do_eval", true}}, replay).text,
              HasSubstr("--replay " + folder +
                        ": only valid for training, and this command does not train\n"
                        "  hint: add do_train in --hparams and the flags of the training run"));
}

TEST_F(ElectraRun, InitializesFromWeightsOfAnyFormat) {
  make_data();
  ASSERT_EQ(pretrain({{"num_train_steps", 1}}).status, 0);
  run_smelt(str("convert --no-slots ", data("models/m"), " ", data("models/bare/model.ckpt")));
  const std::string bare = data("models/bare/model.ckpt");
  EXPECT_THAT(
      pretrain({{"num_train_steps", 1}}, "", "bare").text,
      HasSubstr(bare +
                " has weights without step and optimizer slots: a run cannot resume from it\n"
                "  hint: use --init " +
                bare + " to start a new run from these weights, or choose"));
  EXPECT_FALSE(io::exists(data("models/bare/metrics.jsonl")));
  EXPECT_THAT(pretrain({{"num_train_steps", 1}}, "--init " + bare, "bare").text,
              HasSubstr("weights of " + bare));
  const std::string prefix = dir_.file("tf/model.ckpt-1"), folder = dir_.file("hf");
  for (const std::string& to : {prefix, folder + " --to hf"}) {
    const CommandOutput converted = run_smelt(str("convert ", data("models/m"), " ", to));
    ASSERT_EQ(converted.status, 0) << converted.text;
  }
  const Json one = {{"num_train_steps", 1}};
  for (const std::string& init : {data("models/m"), prefix, dir_.file("tf"), folder}) {
    const CommandOutput begun = pretrain(one, "--init " + init, "n");
    EXPECT_EQ(begun.status, 0) << begun.text;
    EXPECT_THAT(begun.text, AllOf(HasSubstr("weights of "), HasSubstr("\n  loaded "),
                                  Not(HasSubstr("\n  random")), Not(HasSubstr("was made with"))));
    io::remove_tree(data("models/n"));
  }
  for (const char* part : {"discriminator", "generator"}) {
    const std::string config = str(folder, "/", part, "/config.json");
    Json other = Json::parse(io::read_file(config));
    other["num_attention_heads"] = 2;
    io::write_file(config, other.dump());
  }
  EXPECT_THAT(
      pretrain(one, "--init " + folder, "n").text,
      AllOf(HasSubstr("was made with the discriminator's num_attention_heads 2, this run has 1\n"),
            HasSubstr("was made with the generator's num_attention_heads 2, this run has 1\n")));
  io::remove_tree(data("models/n"));
  const std::string both = "--rescale-learning-rate --init " + prefix;
  EXPECT_THAT(pretrain(one, both, "n").text,
              HasSubstr("models/n has not decayed: a run with the weights of --init begins at "
                        "step 0\n  hint: remove the flag"));
  ASSERT_EQ(pretrain(one, "--init " + prefix, "n").status, 0);
  EXPECT_THAT(
      pretrain({{"num_train_steps", 2}}, both, "n").text,
      AllOf(HasSubstr("learning_rate 0.001 instead of 0.0005: the 1 step after step 1 begins "),
            HasSubstr(" is not used: this run has a checkpoint of its own"),
            HasSubstr("2/2 = 100.0%")));
}

TEST_F(ElectraRun, WarnsThatAnExportedElectricGivesOnlyTheEnergy) {
  make_data();
  ASSERT_EQ(
      pretrain({{"num_train_steps", 1}, {"electra_objective", false}, {"electric_objective", true}})
          .status,
      0);
  EXPECT_THAT(ask("export --out " + dir_.file("hf")).text,
              HasSubstr("export: the exported logit of Electric is its energy alone, without the"));
}

}  // namespace
}  // namespace smelt::cli
