// Tests of optimizer and schedule fields in a recipe: invalid ones are rejected on load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "model/optim/adafactor.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "support/error_of.h"
#include "support/paths.h"

namespace smelt::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OptimizerRecipe : public testing::Test {
 protected:
  Recipe loaded(const std::string& text, const std::vector<std::string>& settings = {}) {
    io::write_file(dir_.file("r.yaml"), text);
    return load_recipe(dir_.file("r.yaml"), settings);
  }
  std::string refusal(const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { loaded("out: x\n", settings); });
  }

  TempDir dir_;
};

TEST_F(OptimizerRecipe, NamesUnknownValues) {
  EXPECT_EQ(refusal({"train.optimizer.type=amo"}),
            "--set: train.optimizer.type is 'amo'\n  hint: did you mean 'amos'?");
  EXPECT_EQ(refusal({"train.schedule.type=jestimate"}),
            "--set: train.schedule.type is 'jestimate'\n  hint: did you mean 'jestimator'?");
  EXPECT_EQ(refusal({"train.optimizer.amos_preset=jestimator_brt"}),
            "--set: train.optimizer.amos_preset is 'jestimator_brt'\n  hint: did you mean "
            "'jestimator_bert'?");
  EXPECT_EQ(
      refusal({"train.eta_rule=x"}),
      "--set: unknown field 'train.eta_rule'\n  hint: did you mean 'train.optimizer.eta_rules'?");
}

TEST_F(OptimizerRecipe, RejectsNumbersOutOfRange) {
  EXPECT_EQ(refusal({"train.optimizer.beta1=1"}),
            "--set: train.optimizer.beta1 is 1, must be at least 0 and below 1\n  hint: use 0.9");
  EXPECT_THAT(refusal({"train.optimizer.beta2=1"}),
              HasSubstr("train.optimizer.beta2 is 1, must be above 0 and below 1"));
  EXPECT_THAT(
      refusal({"train.optimizer.clip_value=-1"}),
      HasSubstr("train.optimizer.clip_value is -1, must be auto or a finite number of at least 0"));
  for (const char* norm : {"-1", "nan", "1x", "atuo"})
    EXPECT_EQ(refusal({str("train.optimizer.clip_norm=", norm)}),
              str("--set: train.optimizer.clip_norm is ", norm,
                  ", must be auto or a finite number of at least 0\n  hint: use 1 to clip "
                  "gradients, or 0 for no clipping"));
  EXPECT_EQ(refusal({"train.schedule.decay_to_step=500"}),
            "--set: train.schedule.decay_to_step is 500 with train.schedule.type bert, which "
            "decays over train.steps\n  hint: set train.schedule.type to jestimator, or remove "
            "train.schedule.decay_to_step");
  EXPECT_EQ(refusal({"train.schedule.decay_to_step=100", "train.schedule.type=jestimator"}),
            "--set: train.schedule.decay_to_step 100 is not after train.schedule.warmup_steps 100\n"
            "  hint: raise train.schedule.decay_to_step, or set it to 0 for no decay");
  EXPECT_THAT(refusal({"train.schedule.decay_to_step=-1"}),
              HasSubstr("train.schedule.decay_to_step is -1"));
}

TEST_F(OptimizerRecipe, RejectsStepsThatARatioOverrides) {
  const std::string text =
      "train: {schedule.warmup_ratio: 0.1, schedule.warmup_steps: 7, schedule.decay_ratio: 0.2, "
      "schedule.type: wsd}\n"
      "eval: {every_epochs: 2}\n";
  const auto refused = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { loaded(text, settings); });
  };
  EXPECT_EQ(refused({}), "no error");
  EXPECT_EQ(refused({"train.schedule.warmup_steps=20"}),
            "--set: train.schedule.warmup_steps is ignored, because train.schedule.warmup_ratio is "
            "0.1 and replaces "
            "it\n  hint: also give --set train.schedule.warmup_ratio=0, or change "
            "train.schedule.warmup_ratio instead");
  EXPECT_THAT(refused({"train.schedule.decay_steps=20"}),
              HasSubstr("because train.schedule.decay_ratio is 0.2"));
  EXPECT_THAT(refused({"eval.every=0"}), HasSubstr("because eval.every_epochs is 2"));
  EXPECT_EQ(refused({"eval.every=10", "eval.every_epochs=0"}), "no error");
}

TEST_F(OptimizerRecipe, ParsesAndAppliesRulesBeforeAnyWork) {
  const auto with_amos = [&](const std::string& setting) {
    return refusal({"train.optimizer.type=amos", setting});
  };
  EXPECT_EQ(with_amos("train.optimizer.eta_rules=.*/kernel 1"),
            "--set: train.optimizer.eta_rules: '.*/kernel 1' has no '='\n"
            "  hint: write a rule such as .*/kernel = sqrt(1 / SHAPE[0])");
  EXPECT_EQ(with_amos("train.optimizer.eta_rules=nothing = sqt(2)"),
            "--set: train.optimizer.eta_rules: 'sqt(2)': unknown function 'sqt'\n"
            "  hint: did you mean 'sqrt'?");
  EXPECT_THAT(
      with_amos("train.optimizer.slot_rules=.*/(kernel = ()"),
      StartsWith(
          "--set: train.optimizer.slot_rules: '.*/(kernel' is not a valid regular expression: "));
  EXPECT_THAT(with_amos("train.optimizer.slot_rules=.*/kernel = (1, SHAPE[2])"),
              HasSubstr("'(1, SHAPE[2])': index 2 is out of range for (768, 768), which has 2 "
                        "elements"));
  EXPECT_THAT(
      with_amos("train.optimizer.amos_preset=none"),
      AllOf(StartsWith("--set: train.optimizer.slot_rules: no rule matches the parameter bert/"),
            HasSubstr("hint: add a rule for it")));
  EXPECT_THAT(
      error_of<UsageError>([&] {
        loaded("train:\n  optimizer.type: amos\n  optimizer.eta_rules: |\n    .*/gamma = 0\n");
      }),
      AllOf(StartsWith(dir_.file("r.yaml") + ": train.optimizer.eta_rules: eta of bert/"),
            HasSubstr("LayerNorm/gamma is 0, must be above 0")));
  EXPECT_EQ(with_amos("train.optimizer.eta_rules=.*/gamma = 0.5; .*/beta = 0.25"), "no error");
  EXPECT_EQ(with_amos("model.type=electra"), "no error");
}

TEST_F(OptimizerRecipe, RejectsFieldsThatOnlyAmosUses) {
  for (const std::string setting : {"eta_rules=.* = 1", "slot_rules=.* = ()", "amos_preset=none"}) {
    const std::string field = "train.optimizer." + setting.substr(0, setting.find('='));
    EXPECT_EQ(refusal({"train.optimizer." + setting}),
              str("--set: ", field,
                  " is set, but train.optimizer.type bert_adamw does not use it\n  hint: set "
                  "train.optimizer.type to amos, or remove ",
                  field));
  }
}

TEST_F(OptimizerRecipe, RejectsFieldsThatOnlyAdafactorUsesAndInvalidOnes) {
  for (const std::string setting : {"clip=2", "exponent=0.7", "momentum=0.9", "scaled=false"}) {
    const std::string field = "train.optimizer.adafactor_" + setting.substr(0, setting.find('='));
    EXPECT_EQ(refusal({"train.optimizer.adafactor_" + setting}),
              str("--set: ", field,
                  " is set, but train.optimizer.type bert_adamw does not use it\n  hint: set "
                  "train.optimizer.type to adafactor, or remove ",
                  field));
    EXPECT_EQ(
        refusal({"train.optimizer.type=hf_adafactor", "train.optimizer.adafactor_" + setting}),
        "no error");
  }
  const auto with_adafactor = [&](const std::string& setting) {
    return refusal({"train.optimizer.type=adafactor", "train.optimizer.adafactor_" + setting});
  };
  EXPECT_THAT(with_adafactor("clip=-1"), HasSubstr("train.optimizer.adafactor_clip is -1"));
  EXPECT_THAT(with_adafactor("exponent=0"),
              HasSubstr("train.optimizer.adafactor_exponent is 0, must be above 0 and below 1"));
  EXPECT_EQ(with_adafactor("momentum=1"),
            "--set: train.optimizer.adafactor_momentum is 1, must be at least 0 and below 1\n"
            "  hint: use 0 for none, as T5 does");
}

TEST_F(OptimizerRecipe, SupportsAdafactorOfT5XAndOfTransformers) {
  const auto settings = [&](const std::string& name) {
    return model::make_optimizer(
               loaded("out: x\n", {"train.optimizer.type=" + name}).train.optimizer, "bert")
        .settings;
  };
  EXPECT_EQ(settings("adafactor"), model::adafactor({}).settings);
  EXPECT_EQ(settings("hf_adafactor"),
            model::adafactor({.decay = model::Adafactor::Decay::by_rate,
                              .factored = model::Adafactor::Factored::last})
                .settings);
}

TEST_F(OptimizerRecipe, RejectsFieldsThatTheScheduleDoesNotUse) {
  for (const std::string setting :
       {"power=2", "min_lr_rate=0.1", "warmup_form=none", "decay_steps=3", "decay_type=sqrt"})
    EXPECT_THAT(refusal({"train.schedule." + setting}),
                AllOf(StartsWith("--set: train.schedule." + setting.substr(0, setting.find('=')) +
                                 " is set, but train.schedule.type bert does not use it\n"),
                      HasSubstr("hint: remove it; it is used by ")));
  EXPECT_EQ(refusal({"train.schedule.type=polynomial", "train.schedule.power=2",
                     "train.schedule.min_lr_rate=0.1", "train.schedule.warmup_form=replaces"}),
            "no error");
  EXPECT_EQ(refusal({"train.schedule.type=wsd"}),
            "--set: train.schedule.type wsd needs train.schedule.decay_steps\n  hint: set it to "
            "the number of decay steps at the end; a tenth of train.steps is usual");
  EXPECT_THAT(
      refusal({"train.schedule.type=wsd", "train.schedule.decay_steps=901"}),
      HasSubstr("train.schedule.warmup_steps 100 and train.schedule.decay_steps 901 are more than "
                "train.steps 1000"));
  EXPECT_THAT(refusal({"train.schedule.type=cosine", "train.schedule.min_lr_rate=2"}),
              HasSubstr("train.schedule.min_lr_rate is 2, must be from 0 to 1"));
  EXPECT_THAT(refusal({"train.schedule.type=cosine", "train.schedule.warmup_form=preceds"}),
              HasSubstr("hint: did you mean 'precedes'?"));
}

TEST_F(OptimizerRecipe, AppliesParameterRulesBeforeAnyWork) {
  EXPECT_THAT(
      refusal({"train.optimizer.rate_rules=bert/.*/kernl = 0"}),
      StartsWith("--set: train.optimizer.rate_rules: 'bert/.*/kernl' matches none of the "));
  EXPECT_THAT(refusal({"train.optimizer.decay_rules=bert/.* = sqt(2)"}),
              HasSubstr("train.optimizer.decay_rules: 'sqt(2)': unknown function 'sqt'"));
  EXPECT_THAT(refusal({"train.optimizer.rate_rules=.* = 0"}),
              HasSubstr("train: every parameter that the loss depends on is frozen"));
  EXPECT_THAT(refusal({"train.optimizer.type=amos", "train.optimizer.decay_rules=.* = 0"}),
              HasSubstr("train.optimizer.decay_rules is set, but train.optimizer.type amos defines "
                        "its own weight decay"));
  EXPECT_THAT(refusal({"train.optimizer.trust_norm=10"}),
              HasSubstr("train.optimizer.trust_norm is set, but train.optimizer.type bert_adamw"));
  EXPECT_EQ(
      refusal({"train.optimizer.rate_rules=bert/embeddings/.* = 0", "train.optimizer.type=lamb",
               "train.optimizer.decay_rules=.*/kernel = 0.1", "train.optimizer.trust_norm=10"}),
      "no error");
}

TEST_F(OptimizerRecipe, ClipsTheNormIfTheOriginalOptimizerDoes) {
  const auto norm = [&](const std::string& train) {
    return model::clip_norm_of(loaded(str("train: {", train, "}\n")).train.optimizer);
  };
  EXPECT_EQ(norm("optimizer.type: bert_adamw"), 1);
  EXPECT_EQ(norm("optimizer.type: adamw"), 1);
  EXPECT_EQ(norm("optimizer.type: optax_adamw"), 0);
  EXPECT_EQ(norm("optimizer.type: amos"), 0);
  EXPECT_EQ(norm("optimizer.type: amos, optimizer.clip_norm: 0.25"), 0.25);
  EXPECT_EQ(norm("optimizer.clip_norm: 0"), 0);
  const auto value = [&](const std::string& train) {
    return model::clip_value_of(loaded(str("train: {", train, "}\n")).train.optimizer);
  };
  EXPECT_EQ(value("optimizer.type: amos"), 1);
  EXPECT_EQ(value("optimizer.type: lamb"), 0);
  EXPECT_EQ(value("optimizer.clip_value: 0.5"), 0.5);
}

TEST_F(OptimizerRecipe, ResumedRunsMustKeepTheSettingsOfTheirOptimizer) {
  const auto settings = [&](const std::string& train) {
    return model::make_optimizer(loaded(str("train: {", train, "}\n")).train.optimizer, "bert")
        .settings;
  };
  const auto optax =
      settings("optimizer.type: optax_adamw, optimizer.beta1: 0.8, optimizer.beta2: 0.99");
  EXPECT_EQ(optax, Json({{"algorithm", "adamw"},
                         {"bias_correction", true},
                         {"decay_of", "all"},
                         {"beta1", 0.8},
                         {"beta2", 0.99},
                         {"epsilon", 1e-8},
                         {"weight_decay", 0.01}}));
  EXPECT_EQ(settings("optimizer.type: optax_adam")["weight_decay"], 0);
  const auto bert = settings("optimizer.type: bert_adamw");
  EXPECT_EQ(bert["epsilon"], 1e-6);
  EXPECT_EQ(bert["bias_correction"], false);
  EXPECT_EQ(bert["decay_of"], "kernels");
  const auto amos = settings(
      "optimizer.type: amos, optimizer.beta1: 0, optimizer.clip_value: 2, optimizer.eta_rules: x = "
      "1");
  EXPECT_EQ(amos["momentum"], 0);
  EXPECT_EQ(amos["clip_value"], 2);
  EXPECT_EQ(amos["eta"][0], "x = 1");
  EXPECT_EQ(amos["eta"][1], ".*/LayerNorm/gamma$ = 1");
}

}  // namespace
}  // namespace smelt::pipeline
