// A run of smelt electra run_pretraining that begins with weights of its own, of another model, or
// of the original's.
#include <gmock/gmock.h>

#include "cli/electra_run_fixture.h"
#include "store/folder.h"

namespace smelt {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The original's checkpoint in the model's folder, slots, step and all.
TEST_F(ElectraRun, GoesOnFromWhatTheOriginalLeft) {
  make_data();
  ASSERT_EQ(pretrain({{"num_train_steps", 2}}).status, 0);
  for (const char* name : {"o", "p", "q"}) {
    const std::string prefix = data(str("models/", name, "/model.ckpt-2"));
    const CommandOutput converted =
        run_command(str(SMELT_PROGRAM, " convert ", data("models/m"), " ", prefix));
    ASSERT_EQ(converted.status, 0) << converted.text;
  }
  const auto of_step_4 = [&](const char* name) {
    return read_file(
        data(str("models/", name, "/checkpoint-4/tensors-00000-of-00001.safetensors")));
  };
  const json four = {{"num_train_steps", 4}};
  ASSERT_EQ(pretrain(four).status, 0);
  EXPECT_THAT(
      pretrain(four, "", "o").text,
      AllOf(HasSubstr("models/o/model.ckpt-2, the checkpoint of step 2 that TensorFlow wrote\n"),
            HasSubstr("step 2 of another program's run is gone on with to 4 steps: the learning "
                      "rate decays over all of them and goes on at 0.00025, not 0.0005; "
                      "--rescale-learning-rate makes it go on at 0.0005 (learning_rate 0.001)"),
            HasSubstr("4/4 = 100.0%")));
  EXPECT_EQ(of_step_4("o"), of_step_4("m"));

  const std::string rescaled =
      "learning_rate 0.001 instead of 0.0005: the 2 steps after 2 begin at";
  EXPECT_THAT(pretrain(four, "--rescale-learning-rate", "p").text,
              AllOf(HasSubstr(rescaled), HasSubstr("4/4 = 100.0%")));
  remove_tree(data("models/p/checkpoint-4"));  // as after a kill
  EXPECT_THAT(pretrain(four, "--rescale-learning-rate", "p").text, HasSubstr(rescaled));
  EXPECT_NE(of_step_4("p"), of_step_4("m"));

  EXPECT_THAT(
      pretrain({{"do_train", false}, {"do_eval", true}, {"num_eval_steps", 1}}, "", "q").text,
      HasSubstr("\nglobal_step = 2\n"));
}

TEST_F(ElectraRun, BeginsWithTheWeightsOfAnyForm) {
  make_data();
  ASSERT_EQ(pretrain({{"num_train_steps", 1}}).status, 0);
  run_command(str(SMELT_PROGRAM, " convert --no-slots ", data("models/m"), " ",
                  data("models/bare/model.ckpt")));
  EXPECT_THAT(
      pretrain({{"num_train_steps", 1}}, "", "bare").text,
      AllOf(HasSubstr("models/bare/model.ckpt holds weights without step and slots: no run"),
            HasSubstr("models/bare, from fresh weights\n")));
  const std::string prefix = dir_.file("tf/model.ckpt-1"), folder = dir_.file("hf");
  for (const std::string& to : {prefix, folder + " --to hf"}) {
    const CommandOutput converted =
        run_command(str(SMELT_PROGRAM, " convert ", data("models/m"), " ", to));
    ASSERT_EQ(converted.status, 0) << converted.text;
  }
  const json one = {{"num_train_steps", 1}};
  for (const std::string& init : {data("models/m"), prefix, dir_.file("tf"), folder}) {
    const CommandOutput begun = pretrain(one, "--init " + init, "n");
    EXPECT_EQ(begun.status, 0) << begun.text;
    EXPECT_THAT(begun.text, AllOf(HasSubstr("weights of "), HasSubstr("\n  taken "),
                                  Not(HasSubstr("fresh   "))));
    remove_tree(data("models/n"));
  }
  const std::string both = "--rescale-learning-rate --init " + prefix;
  EXPECT_THAT(pretrain(one, both, "n").text,
              HasSubstr("models/n has not decayed: a run with the weights of --init begins at "
                        "step 0\n  hint: leave the flag out"));
  ASSERT_EQ(pretrain(one, "--init " + prefix, "n").status, 0);
  EXPECT_THAT(pretrain({{"num_train_steps", 2}}, both, "n").text,
              AllOf(HasSubstr("learning_rate 0.001 instead of 0.0005: the 1 steps after 1 begin"),
                    HasSubstr(" is not used: this run has a checkpoint of its own"),
                    HasSubstr("2/2 = 100.0%")));
}

TEST_F(ElectraRun, AnElectricsFolderIsSaidToHoldTheEnergyAlone) {
  make_data();
  ASSERT_EQ(
      pretrain({{"num_train_steps", 1}, {"electra_objective", false}, {"electric_objective", true}})
          .status,
      0);
  EXPECT_THAT(ask("export --out " + dir_.file("hf")).text,
              HasSubstr("export: Electric's logit in the folder is its energy alone, without how"));
}

}  // namespace
}  // namespace smelt
