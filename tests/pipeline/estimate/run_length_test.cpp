// Tests of the length of a run in passes, tokens and dollars, and of starter recipes.
#include "pipeline/config/run_length.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/json.h"
#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/text_size.h"
#include "pipeline/estimate/advise.h"
#include "pipeline/estimate/budget.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/estimate/plan_recipe.h"
#include "pipeline/estimate/plan_text.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/small_run.h"
#include "pipeline/small_recipe.h"
#include "pipeline/stages/clean.h"
#include "pipeline/stages/run_needs.h"
#include "pipeline/starter/starter.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class RunLength : public SmallRecipe {};

TEST(TextSize, EstimatesTokensFromCharactersAndCountsEachIdeograph) {
  const TempDir dir;
  io::write_file(dir.file("latin"), std::string(9000, 'a'));
  const auto latin = text_size({dir.file("latin")});
  EXPECT_EQ(latin->bytes, 9000);
  EXPECT_NEAR(latin->tokens, 2000, 1);
  std::string cyrillic, chinese;
  for (int i = 0; i < 900; ++i) cyrillic += "\u0457", chinese += "\u4e2d";
  io::write_file(dir.file("cyrillic"), cyrillic);
  io::write_file(dir.file("chinese"), chinese);
  EXPECT_NEAR(text_size({dir.file("cyrillic")})->tokens, 200, 1);
  EXPECT_NEAR(text_size({dir.file("chinese")})->tokens, 900, 1);
  EXPECT_EQ(text_size({}), std::nullopt);
  EXPECT_EQ(text_size({"gs://bucket/text"}), std::nullopt);
}

TEST_F(RunLength, EstimatesEpochsFromTheTextUntilExamplesAreMade) {
  const Recipe before = recipe({"train.epochs=10"});
  EXPECT_GT(before.train.steps, 20);
  EXPECT_THAT(dry_run_text(before), AllOf(HasSubstr("train.epochs 10: about "),
                                          HasSubstr(" steps, estimated from the text size")));
  run_recipe(recipe({"train.epochs=1"}));
  const auto examples = training_examples(recipe());
  ASSERT_TRUE(examples);
  EXPECT_EQ(recipe({"train.epochs=10"}).train.steps, std::ceil(10 * *examples / 4));
  EXPECT_NEAR(*training_passes(recipe({"train.epochs=10"})), 20, 1);  // data.dupe_factor is 2
  EXPECT_EQ(said(" passes over the text (40 to 200 are usual for "), 1);
}

TEST_F(RunLength, PlansReadFromTheExamplesHowMuchTimePackingSaves) {
  // Examples of different lengths.
  const std::string lengths = "data.short_seq_prob=1", longer = "data.seq_length=48",
                    positions = "model.max_position_embeddings=48";
  const auto planned = [&] {
    return planned_run(
        recipe({"train.packing=on", "train.batch_size=16", lengths, longer, positions}));
  };
  const PlannedRun before = planned();
  EXPECT_EQ(before.packed_time, 1);
  EXPECT_THAT(before.unknown, HasSubstr("train.packing: the examples are not made yet"));
  run_recipe(recipe({lengths, longer, positions}));
  const PlannedRun after = planned();
  EXPECT_LT(after.packed_time, 1);
  EXPECT_EQ(after.unknown, "");
  EXPECT_THAT(after.packing, HasSubstr("on: 16 examples of a step fit into "));
}

TEST(RunLengthText, IsParsedWithItsUnit) {
  const auto parsed = [](const char* text) {
    const pipeline::RunLength length = parse_run_length("f", text);
    return std::pair(length.value, length.unit);
  };
  using enum LengthUnit;
  EXPECT_EQ(parsed("30000 steps"), std::pair(3e4, steps));
  EXPECT_EQ(parsed("30k steps"), std::pair(3e4, steps));
  EXPECT_EQ(parsed("2.5 epochs"), std::pair(2.5, epochs));
  EXPECT_EQ(parsed("3B tokens"), std::pair(3e9, tokens));
  EXPECT_EQ(parsed("3e9tokens"), std::pair(3e9, tokens));
  EXPECT_EQ(parsed("24 h"), std::pair(86400.0, seconds));
  EXPECT_EQ(parsed("90 min"), std::pair(5400.0, seconds));
  EXPECT_EQ(parsed("2 days"), std::pair(172800.0, seconds));
  EXPECT_EQ(parsed("$20"), std::pair(20.0, dollars));
  EXPECT_EQ(parsed("20 dollars"), std::pair(20.0, dollars));
  EXPECT_EQ(parsed("2 %"), std::pair(2.0, percent));
  EXPECT_EQ(parsed("5 Minutes"), std::pair(300.0, seconds));
  EXPECT_EQ(parsed("3K tokens"), std::pair(3e3, tokens));
  EXPECT_EQ(parsed("3 M Tokens"), std::pair(3e6, tokens));
  for (const char* text :
       {"30000 steps", "2.5 epochs", "3e+09 tokens", "24 hours", "90 minutes", "20 dollars", "2 %"})
    EXPECT_EQ(run_length_words(parse_run_length("f", text)), text);
  const auto refusal = [](const char* text) {
    return error_of<UsageError>([&] { (void)parse_run_length("train.length", text); });
  };
  EXPECT_EQ(refusal("30000"),
            "train.length: '30000' has no unit\n  hint: write it as 30000 steps, 3 epochs, 3B "
            "tokens, 24 hours or 20 dollars");
  EXPECT_THAT(refusal("-3 steps"), HasSubstr("'-3 steps' is not a length with a unit"));
  EXPECT_THAT(refusal("3 weeks"), HasSubstr("'3 weeks' has an unknown unit, 'weeks'"));
  EXPECT_THAT(refusal("$3 steps"), HasSubstr("has an unknown unit, '$steps'"));
  EXPECT_THAT(refusal("3M"), HasSubstr("'3M' has no unit"));
  EXPECT_THAT(refusal("3 long steps"), HasSubstr("'3 long steps' is not a length with a unit"));
  EXPECT_THAT(refusal("3M hours"), HasSubstr("'3M hours' has k, M or B before its unit"));
  EXPECT_THAT(refusal("1e99 steps"), HasSubstr("'1e99 steps' is too long"));
  EXPECT_THAT(refusal("101 %"), HasSubstr("'101 %' is more than the run"));
}

TEST_F(RunLength, ALengthWithItsUnitSetsTheSteps) {
  EXPECT_EQ(recipe({"train.length=6.4k tokens"}).train.steps, 100);  // of 4 x 16
  EXPECT_THAT(run_length_text(recipe({"train.length=6.4k tokens"})),
              HasSubstr("100 steps of 4: 400 examples, 6400 tokens, about "));
  EXPECT_EQ(recipe({"train.length=6401 tokens"}).train.steps, 101);
  EXPECT_EQ(recipe({"train.length=7 steps"}).train.steps, 7);
  EXPECT_EQ(planned_run(recipe({"train.length=6.4k tokens"})).job.config.schedule.total_steps, 100);
  EXPECT_EQ(recipe({"train.length=10 epochs"}).train.steps,
            recipe({"train.epochs=10"}).train.steps);
  EXPECT_EQ(recipe({"train.length=$20"}).train.budget.usd, 20);
  EXPECT_EQ(recipe({"train.steps=12", "train.schedule.type=wsd", "train.schedule.warmup_ratio=0.1",
                    "train.schedule.decay_ratio=0.2"})
                .train.steps,
            12);  // fewer than the default of warmup_steps
  EXPECT_EQ(doubled_length(recipe({"train.length=24 h"}), 0), "train.length='48 hours'");
  EXPECT_EQ(doubled_length(recipe({}), 20), "train.steps=40");
  const auto refusal = [&](const std::vector<std::string>& settings) {
    return error_of<UsageError>([&] { recipe(settings); });
  };
  EXPECT_THAT(refusal({"train.length=100 tokens", "train.epochs=1"}),
              HasSubstr("train.length and train.epochs are both set, but each determines"));
  EXPECT_THAT(refusal({"train.length=100 tokens", "train.budget.usd=1"}),
              HasSubstr("train.length and train.budget.usd are both set"));
  EXPECT_THAT(refusal({"train.length=100 tokens", "train.steps=7"}),
              HasSubstr("train.steps is ignored, because train.length is 100 tokens and replaces "
                        "it\n  hint: also give --set train.length=, or change train.length"));
  EXPECT_THAT(refusal({"train.length=2 %"}), HasSubstr("'2 %' is not a length of a run"));
  EXPECT_THAT(refusal({"train.length=0 steps"}), HasSubstr("'0 steps' is not a length of a run"));
  EXPECT_THAT(refusal({"train.tokens=100"}), HasSubstr("did you mean 'train.length'?"));
  EXPECT_THAT(refusal({"train.budget.usd=5", "train.epochs=1"}),
              HasSubstr("train.budget.usd and train.epochs are both set"));
  EXPECT_THAT(error_of<UsageError>([&] { recipe({"train.budget.type=v9-8"}); }),
              HasSubstr("train.budget.type: 'v9-8' is not a known TPU or GPU type"));
}

TEST_F(RunLength, WarmupAndDecayAreLengthsOrSharesOfTheRun) {
  const auto schedule = [&](std::vector<std::string> settings) {
    settings.insert(settings.end(), {"train.schedule.type=wsd", "train.schedule.warmup_ratio=0"});
    const Recipe r = recipe(settings);
    return std::vector<std::int64_t>{r.train.schedule.warmup_steps, r.train.schedule.decay_steps,
                                     train::schedule_length(r.train)};
  };
  const auto of = [](std::int64_t warmup, std::int64_t decay, std::int64_t length) {
    return std::vector{warmup, decay, length};
  };
  EXPECT_EQ(schedule({"train.length=6400 tokens", "train.schedule.warmup=640 tokens",
                      "train.schedule.decay=25 %"}),
            of(10, 25, 100));
  EXPECT_EQ(
      schedule({"train.steps=100", "train.schedule.warmup=7 steps", "train.schedule.decay=93 %"}),
      of(7, 93, 100));
  // The steps of a budget are stored in the recipe.
  EXPECT_EQ(schedule({"train.length=20 dollars", "train.steps=100",
                      "train.schedule.warmup=1 dollar", "train.schedule.decay=$5"}),
            of(5, 25, 100));
  EXPECT_EQ(
      schedule({"train.length=2 hours", "train.schedule.warmup=30 s", "train.schedule.decay=50 %"}),
      of(30'000, 3'600'000, 7'200'000));
  EXPECT_EQ(schedule({"train.length=2 hours", "train.schedule.decay=30 min"}),
            of(72'000, 1'800'000, 7'200'000));  // 1 % of warm-up
  EXPECT_EQ(recipe({"train.length=2 epochs", "train.schedule.warmup=1 epoch"})
                .train.schedule.warmup_steps,
            std::llround(*training_examples(recipe()) / 4));
}

TEST_F(RunLength, ASettingReplacesALengthOfTheFile) {
  const auto replace = [&](const std::string& was, const std::string& is) {
    std::string text = io::read_file(dir_.file("r.yaml"));
    text.replace(text.find(was), was.size(), is);
    io::write_file(dir_.file("r.yaml"), text);
  };
  replace("steps: 2", "length: 20 dollars, schedule: {warmup_ratio: 0.1}");
  const Recipe r = recipe({"train.epochs=3", "train.schedule.warmup=5 %"});
  EXPECT_EQ(r.train.length, "");
  EXPECT_EQ(r.train.budget.usd, 0);
  EXPECT_EQ(r.train.schedule.warmup_ratio, 0);
  EXPECT_EQ(r.sections.at("train").at("length"), "");
  EXPECT_EQ(recipe({"train.budget.usd=5"}).train.budget.usd, 5);
  EXPECT_EQ(recipe({"train.schedule.warmup_ratio=0.2"}).train.schedule.warmup_ratio, 0.2);
  replace("length: 20 dollars", "epochs: 3");
  EXPECT_EQ(recipe({"train.length=1 hour"}).train.epochs, 0);
  EXPECT_EQ(recipe({"train.length="}).train.epochs, 3);
}

TEST_F(RunLength, ARecipeFileSetsEitherABudgetOrSteps) {
  const std::string yaml = dir_.file("both.yaml");
  const auto refusal = [&](const std::string& budget) {
    io::write_file(yaml, str("text: {input: none}\ntrain: {steps: 40, ", budget, "}\n"));
    return error_of<UsageError>([&] { load_recipe(yaml, {}); });
  };
  EXPECT_EQ(refusal("length: 20 dollars"),
            yaml +
                ": train.steps and train.length are both set, but the budget determines the "
                "steps\n  hint: remove one of them");
  EXPECT_THAT(refusal("budget: {usd: 20}"),
              HasSubstr("train.steps and train.budget.usd are both set"));
  // The stored recipe of a run has the steps of its budget.
  keep_recipe(recipe({"train.length=20 dollars", "train.steps=40"}));
  io::write_file(dir_.file("m/.stages"), "");
  EXPECT_EQ(load_recipe(dir_.file("m"), {}).train.steps, 40);
}

TEST_F(RunLength, TheStoredRecipeOfAGivenTimeIsReadAgain) {
  io::write_file(dir_.file("m/.stages"), "");
  for (const std::string type : {"linear", "wsd"})
    for (const std::string warmup : {"", "2 %"}) {
      std::vector<std::string> settings{"train.length=2 hours", "train.schedule.type=" + type,
                                        "train.schedule.warmup=" + warmup};
      if (type == "wsd") settings.emplace_back("train.schedule.decay=10 %");
      const Recipe given = recipe(settings);
      keep_recipe(given);
      const Recipe again = load_recipe(dir_.file("m"), {});
      EXPECT_EQ(again.sections.at("train"), given.sections.at("train"));
      EXPECT_EQ(again.train.schedule.warmup_steps, warmup.empty() ? 72'000 : 144'000);
      EXPECT_EQ(load_recipe(dir_.file("m"), {"train.length=4 hours"}).train.seconds, 4 * 3600);
    }
  // A stored default is not a setting of the user.
  keep_recipe(recipe({"train.steps=5"}));
  EXPECT_EQ(load_recipe(dir_.file("m"), {"train.length=2 hours"}).train.schedule.warmup, "1 %");
  const Recipe none = recipe({"train.length=2 hours", "train.schedule.warmup_steps=0"});
  EXPECT_EQ(none.train.schedule.warmup_steps, 0);
  keep_recipe(none);
  EXPECT_EQ(load_recipe(dir_.file("m"), {}).train.schedule.warmup_steps, 0);
}

TEST_F(RunLength, AWarmupInHoursBecomesAShareOfARunInEpochs) {
  EXPECT_EQ(parts_in_shares(recipe({"train.length=2 hours", "train.schedule.type=wsd",
                                    "train.schedule.warmup=30 min", "train.schedule.decay=7 %"})),
            std::vector<std::string>{"train.schedule.warmup=25 %"});
}

TEST_F(RunLength, WarnsThatCheckpointsOfAGivenTimeAreNotCounted) {
  const Recipe r = recipe({"train.length=2 hours", "train.checkpoint.keep_period=5"});
  check_disk(r, disk_need(r));
  EXPECT_EQ(said("train.checkpoint.keep_period keeps "), 1);
  EXPECT_EQ(said(" every 5 steps, but the number of steps is not known: check that the disk"), 1);
}

TEST_F(RunLength, RejectsWarmupAndDecayThatDoNotFitTheLength) {
  const auto refusal = [&](std::vector<std::string> settings) {
    settings.insert(settings.begin(), "train.schedule.type=wsd");
    return error_of<UsageError>([&] { recipe(settings); });
  };
  const std::string hours = "train.length=2 hours", decay = "train.schedule.decay=5 %";
  EXPECT_THAT(refusal({hours, decay, "train.schedule.warmup=10 steps"}),
              HasSubstr("train.schedule.warmup is 10 steps, but train.length is 2 hours\n  hint: "
                        "give both in hours, or train.schedule.warmup as a share: 2 %"));
  EXPECT_THAT(refusal({"train.steps=100", "train.schedule.decay=1 h"}),
              HasSubstr("train.schedule.decay is 1 h, but the length of the run is not a time"));
  EXPECT_THAT(refusal({"train.steps=100", "train.schedule.decay=$1"}),
              HasSubstr("train.schedule.decay is $1, but the length of the run is not in dollars"));
  EXPECT_THAT(refusal({decay, "train.schedule.decay_ratio=0.1"}),
              HasSubstr("train.schedule.decay and train.schedule.decay_ratio are both set"));
  EXPECT_THAT(
      refusal({decay, "train.schedule.decay_steps=4"}),
      HasSubstr("train.schedule.decay_steps is ignored, because train.schedule.decay is 5 %"));
  EXPECT_THAT(
      refusal({"train.steps=100", "train.schedule.warmup=60 %", "train.schedule.decay=42 %"}),
      HasSubstr("train.schedule.decay 42 % and the warm-up before it (60 %) are longer than "
                "the run\n  hint: shorten one of them, or train longer"));
  EXPECT_THAT(refusal({"train.length=100 steps", "train.schedule.warmup_steps=60",
                       "train.schedule.decay_steps=80"}),
              HasSubstr("train.schedule.decay_steps 80 steps and the warm-up before it (60 steps) "
                        "are longer than the run"));
  EXPECT_THAT(refusal({"train.length=100 steps", "train.schedule.warmup=60 %",
                       "train.schedule.decay_steps=80"}),
              HasSubstr("train.schedule.decay_steps 80 steps and the warm-up before it (60 %)"));
  EXPECT_THAT(error_of<UsageError>(
                  [&] { recipe({"train.length=1 hour", "train.schedule.warmup=2 hours"}); }),
              HasSubstr("train.schedule.warmup 2 hours is not shorter than train.length 1 hour\n  "
                        "hint: shorten it, for example to 2 %, or train longer"));
  EXPECT_THAT(refusal({"train.schedule.type=linear", decay}),
              HasSubstr("train.schedule.decay is set, but train.schedule.type linear does not"));
  EXPECT_THAT(refusal({hours, "train.schedule.decay_steps=7"}),
              HasSubstr("train.schedule.decay_steps is set, but train.length is 2 hours"));
  EXPECT_THAT(refusal({hours, decay, "train.pruning.sparsity=0.5"}),
              HasSubstr("train.pruning.sparsity needs a number of steps, but train.length is 2 "
                        "hours\n  hint: remove train.pruning.sparsity, or give train.length in"));
}

TEST_F(RunLength, ARunOfAGivenTimeIsFinishedAfterIt) {
  const auto timed = [&](const std::string& more) {
    return recipe({"train.length=0.3 seconds", more});
  };
  EXPECT_EQ(run_length_text(timed("track.fill=")),
            "0.3 seconds of training in steps of 4 examples");
  EXPECT_THAT(dry_run_text(timed("track.fill=")),
              AllOf(HasSubstr("0.3 seconds of training"),
                    testing::ContainsRegex("train.schedule.warmup +1 %"),
                    Not(HasSubstr("train.steps ")), Not(HasSubstr("train.schedule.warmup_steps"))));
  run_recipe(timed("track.fill="));
  const std::string model = RecipePaths(recipe()).model_dir;
  const auto last = checkpoint::latest_checkpoint(model);
  ASSERT_TRUE(last);
  run_recipe(timed("track.fill="));
  EXPECT_EQ(checkpoint::latest_checkpoint(model), last);
  EXPECT_THAT(error_of<UsageError>([&] { run_recipe(timed("train.ema_decay=0.5")); }),
              AllOf(HasSubstr(str("is finished at step ", *last,
                                  ", so these settings would have no "
                                  "effect: train.ema_decay was 0.0, is 0.5")),
                    HasSubstr("--set train.length='0.6 seconds'")));
  const std::string folder = recipe().out, kept = kept_recipe_path(folder);
  run_recipe(load_recipe(folder, {}));
  EXPECT_EQ(checkpoint::latest_checkpoint(model), last);
  // A longer run still needs its examples.
  const auto has_text = [&] {
    const auto found = leftovers(folder);
    return std::ranges::find(found, io::join_path(folder, "text"), &Leftover::path) != found.end();
  };
  EXPECT_TRUE(has_text());
  std::string text = io::read_file(kept);
  text.replace(text.find("0.3 seconds"), 11, "9 seconds");
  io::write_file(kept, text);
  EXPECT_FALSE(has_text());
}

// A v3-8 with a step of a tenth of a second.
PlanRow row_of(const cost_model::Price& price) {
  PlanRow row;
  row.type = cost_model::find_accelerators("test", "v3-8").front();
  row.tried.push_back({.settings = {},
                       .words = "unrolled",
                       .compiled = {},
                       .products = {},
                       .step = cost_model::Estimate{0.08, 0.1, 0.15}});
  row.best = 0;
  row.price = &price;
  row.batch = 4;
  row.work.steps = 1000;
  row.work.save_every = 1000;
  row.longest_run = 5.7;
  return row;
}

// Every type takes the given time, so the steps are compared.
TEST(PlannedTime, RecommendsTheTypesWithTheMostAndTheCheapestSteps) {
  const cost_model::Price price{"v3", "us-central1", 2.0, 0.6, {}, "a bill", "2019-06"};
  Plan plan;
  for (const auto& [steps, usd] : {std::pair<std::int64_t, double>{10, 1}, {900, 50}, {400, 20}}) {
    PlanRow row = row_of(price);
    row.seconds = 3600;
    row.work.steps = steps;
    row.time.seconds = {3600, 3600, 3600};
    row.cost.on_demand = cost_model::Estimate{usd, usd, usd};
    plan.rows.push_back(row);
  }
  choose(plan);
  EXPECT_EQ(plan.fastest, 1u);
  EXPECT_EQ(plan.cheapest, 2u);
  EXPECT_THAT(plan_text(plan),
              AllOf(HasSubstr("to pay the least for each step: v3-8 makes about 400 steps in "),
                    HasSubstr("; the fastest, v3-8 makes about 900 steps in ")));
}

TEST(Budget, KeepsTheLikelyCostWithinTheBudget) {
  const cost_model::Price price{"v3", "us-central1", 2.0, 0.6, {}, "a bill", "2019-06"};
  Plan plan;
  plan.rows.push_back(row_of(price));
  const PlanRow& row = plan.rows.front();
  const auto cost = [&](std::int64_t steps) {
    return cost_model::run_cost(row.type, time_of(row, steps), row.price).on_demand->likely;
  };
  const auto steps = steps_within(row, 50, false);
  ASSERT_TRUE(steps);
  EXPECT_LE(cost(*steps), 50);
  EXPECT_GT(cost(*steps + *steps / 100), 50);
  EXPECT_GT(steps_within(row, 50, true), steps);
  EXPECT_EQ(steps_within(row, 0.01, false), 0);  // does not cover the startup
  const std::string text = budget_text(
      plan, 50, [](std::int64_t n) { return std::optional(static_cast<double>(n) / 5000); },
      "about 40");
  EXPECT_THAT(text, AllOf(HasSubstr("v3-8  on demand  "), HasSubstr("  2019-06\n"),
                          HasSubstr("about 40 passes over a text of this size are usual.\n"),
                          HasSubstr("use v3-8 on spot: 40 passes cost about $"),
                          HasSubstr(" --set train.budget.type=v3-8 --set "
                                    "train.budget.spot=true\n")));
  EXPECT_THAT(
      budget_text(
          plan, 50, [](std::int64_t) { return std::optional<double>(); }, ""),
      HasSubstr("use v3-8 on spot: it makes the most steps; --set train.length='50 dollars' "));
}

TEST(Budget, FinalEvaluationCostDoesNotDependOnTheSteps) {
  const cost_model::Price price{"v3", "us-central1", 2.0, 0.6, {}, "a bill", "2019-06"};
  PlanRow row = row_of(price);
  row.scored = cost_model::Estimate{1, 1, 1};
  const double none = time_of(row, 1000).seconds.likely;
  row.final_evaluations = row.work.evaluations = 50;
  EXPECT_NEAR(time_of(row, 1000).seconds.likely - none, 50, 1);
  EXPECT_NEAR(
      time_of(row, 1'000'000).seconds.likely -
          [&] {
            PlanRow bare = row;
            bare.final_evaluations = bare.work.evaluations = 0;
            return time_of(bare, 1'000'000).seconds.likely;
          }(),
      50, 1);
}

TEST_F(RunLength, ResumedRunKeepsTheStepsOfItsBudget) {
  const std::vector<std::string> budget{"out=" + dir_.file("m"), "train.budget.usd=50"};
  const std::string yaml = dir_.file("r.yaml");
  EXPECT_EQ(with_steps_of_budget(yaml, {"train.steps=9"}),
            std::vector<std::string>{"train.steps=9"});
  std::string text = io::read_file(yaml);
  text.replace(text.find(", steps: 2"), 10, "");
  io::write_file(yaml, text);
  auto settings = budget;
  settings.emplace_back("train.steps=3");
  run_recipe(load_recipe(yaml, settings));
  EXPECT_EQ(with_steps_of_budget(yaml, budget), settings);  // does not make a plan
  EXPECT_EQ(with_steps_of_budget(dir_.file("m"), {}), std::vector<std::string>());
  const std::string kept = dir_.file("m/recipe.yaml");
  EXPECT_EQ(steps_of_budget_in(kept, load_recipe(yaml, budget)), "3");
  io::write_file(dir_.file("staged.yaml"), "train: {budget.usd: 50.0, steps: 7}\n");
  EXPECT_EQ(
      steps_of_budget_in(dir_.file("staged.yaml"), load_recipe(yaml, {"train.budget.usd=50"})),
      std::nullopt)
      << "the recipe sets sizes that the other one has by default";
  for (const char* other : {"train.batch_size=2", "model.hidden_size=16", "data.dupe_factor=3"}) {
    auto changed = budget;
    changed.emplace_back(other);
    EXPECT_EQ(steps_of_budget_in(kept, load_recipe(yaml, changed)), std::nullopt) << other;
  }
}

TEST_F(RunLength, SmallRunUsesTheTextOfTheFullRecipe) {
  const Recipe full = recipe({"train.device=cpu"});
  const Recipe small = recipe(small_settings(full));
  EXPECT_EQ(small.sections.at("text"), full.sections.at("text"));
  EXPECT_EQ(small.sections.at("vocab"), full.sections.at("vocab"));
  EXPECT_EQ(small.data, full.data);
  EXPECT_EQ(small.train.steps, 2);
  EXPECT_EQ(small.out, dir_.file("m") + "-small");
  EXPECT_EQ(small.model["hidden_size"], 128);
}

TEST_F(RunLength, ASmallRunKeepsTheUsersSettings) {
  std::vector<std::string> settings{"train.steps=100000", "train.schedule.warmup_steps=7",
                                    "model.hidden_size=16", "out=" + dir_.file("n/")};
  for (const std::string& setting : small_settings(recipe(settings))) settings.push_back(setting);
  const Recipe small = recipe(settings);
  EXPECT_EQ(small.train.steps, 300);
  EXPECT_EQ(small.train.schedule.warmup_steps, 7);
  EXPECT_EQ(small.model["hidden_size"], 16);
  EXPECT_EQ(small.out, dir_.file("n-small"));
}

TEST_F(RunLength, ASmallRunUsesTheUsersStepsInsteadOfEpochs) {
  std::vector<std::string> settings{"train.steps=4"};
  add_step_settings(settings);
  const std::vector<std::string> expected{"train.epochs=0", "train.length=", "train.budget.usd=0",
                                          "train.steps=4"};
  EXPECT_EQ(settings, expected);
  std::vector<std::string> others{"train.epochs=2"};
  add_step_settings(others);
  EXPECT_EQ(others, std::vector<std::string>{"train.epochs=2"});
}

TEST_F(RunLength, HintsAtRaisingPositionsOnlyWithoutPretrainedWeights) {
  Recipe r = recipe({});
  const auto hint = [&] {
    return error_of<UsageError>([&] { RecipeChecks(r).fits_positions(128, 64); });
  };
  EXPECT_THAT(hint(), HasSubstr("data.seq_length=64, or raise model.max_position_embeddings"));
  r.train.init_from = "bert-base";
  EXPECT_THAT(hint(), HasSubstr("data.seq_length=64: the model of train.init_from has no more"));
}

TEST_F(RunLength, ReportsTheLengthWithoutExistingRecords) {
  const Recipe r = recipe({"data.records=" + dir_.file("gone/*.tfrecord"),
                           "vocab.file=" + dir_.file("gone/vocab.txt")});
  EXPECT_THAT(run_length_text(r), testing::StartsWith("2 steps of 4: 8 examples"));
}

TEST(Starter, EveryStarterIsAValidRecipe) {
  const TempDir dir;
  for (const StarterKind& kind : starter_kinds()) {
    const std::string text = starter_text({.kind = kind.name, .size = model_size("tiny", "test")});
    EXPECT_LE(std::ranges::max(split(text, '\n'), {}, &std::string_view::size).size(), 100);
    io::write_file(dir.file("r.yaml"), text);
    const bool of_given = text.find("  init_from: ") != std::string::npos;
    if (!of_given)
      EXPECT_EQ(load_recipe(dir.file("r.yaml"), {}).text.input, "text/*.txt");
    else
      EXPECT_THAT(error_of<UsageError>([&] { load_recipe(dir.file("r.yaml"), {}); }),
                  testing::Not(HasSubstr("unknown field")));
  }
  EXPECT_THAT(error_of<UsageError>([] { starter_text({.kind = "brt"}); }),
              HasSubstr("new: 'brt' is not a known kind of recipe\n  hint: did you mean 'bert'?"));
  EXPECT_THAT(error_of<UsageError>([] { (void)model_size("huge", "--size"); }),
              HasSubstr("--size: 'huge' is not a known model size"));
}

TEST(Starter, ChoosesTheVocabularySizeFromTheText) {
  const auto line_of = [](const TextSize& text, const char* kind) {
    const std::string recipe =
        starter_text({.kind = kind, .text = text, .size = model_size("base", "test")});
    const std::size_t at = recipe.find("  size: ");
    return recipe.substr(at, recipe.find('\n', at) - at);
  };
  EXPECT_EQ(line_of({3.6e6, 8e5}, "bert"),
            "  size: 8000                    # for 3.6 MB of text; 16000 from 10 MB, 30000 from "
            "100 MB on");
  EXPECT_THAT(line_of({3.6e6, 8e5}, "t5"), HasSubstr("size: 8000 "));
  EXPECT_THAT(line_of({2e7, 4.5e6}, "electra"), HasSubstr("size: 16000 "));
  EXPECT_THAT(line_of({2e8, 4.5e7}, "bert"), HasSubstr("size: 30000 "));
  EXPECT_THAT(line_of({3.6e6, 1.2e6}, "bert"), HasSubstr("size: 16000 "));  // Chinese
  EXPECT_THAT(starter_text({.kind = "t5"}), HasSubstr("size: 8000 "));
}

TEST(Starter, StartsFamiliesFromWeightsWithTheirSizesAndVocabulary) {
  for (const auto& [kind, type] :
       {std::pair{"roberta", "roberta"}, {"modernbert", "modernbert"}, {"deberta", "deberta"}}) {
    const auto text = [&](const std::string& init) {
      return starter_text({.kind = kind, .init = init, .size = model_size("base", "test")});
    };
    EXPECT_THAT(text("hf"),
                AllOf(HasSubstr(str("\n  type: ", type, " ")), HasSubstr("\n  init_from: \"hf\" "),
                      testing::Not(HasSubstr("hidden_size")), testing::Not(HasSubstr("vocab:"))));
    EXPECT_THAT(text(""), AllOf(HasSubstr("\n  hidden_size: 768 "), HasSubstr("\nvocab:\n"),
                                testing::Not(HasSubstr("init_from"))));
  }
  const auto fresh = [](const char* kind) {
    return starter_text({.kind = kind, .size = model_size("base", "test")});
  };
  EXPECT_THAT(fresh("modernbert"),
              AllOf(HasSubstr("num_hidden_layers: 22 "), HasSubstr("intermediate_size: 1152")));
  EXPECT_THAT(fresh("deberta"), HasSubstr("\n  type: deberta_rtd"));
}

TEST(Starter, NamesTheInitialModel) {
  EXPECT_THAT(starter_text({.kind = "classify", .init = "m/huggingface", .seq_length = 64}),
              AllOf(HasSubstr("  init_from: \"m/huggingface\" "), HasSubstr("  seq_length: 64 "),
                    testing::Not(HasSubstr("hub download"))));
}

TEST(Starter, UsesSentenceLinesIfTheTextHasThem) {
  const TempDir dir;
  const auto sentences_of = [&](const std::string& text) {
    io::write_file(dir.file("t.txt"), text);
    const std::string recipe =
        starter_text({.kind = "bert", .input = "t.txt", .text = text_size({dir.file("t.txt")})});
    const std::size_t at = recipe.find("  sentences: ");
    return recipe.substr(at + 13, recipe.find(' ', at + 13) - at - 13);
  };
  const auto repeated = [](const std::string& document) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += document + "\n";
    return text;
  };
  EXPECT_EQ(
      sentences_of(repeated("A short sentence.\nIs this a longer one, with more words?\nYes.\n")),
      "lines");
  EXPECT_EQ(sentences_of(repeated(
                "ฉันไปโรงเรียนทุกวัน\nวันนี้ อากาศดีมาก และ ลมแรงกว่าเมื่อวานนี้ มากๆ เลยนะครับ\nแมว\n")),
            "lines");
  EXPECT_EQ(sentences_of(repeated("A paragraph. It has two sentences.\n")), "prose");
  EXPECT_EQ(sentences_of(repeated("A paragraph that is wrapped\nat a width of thirty or so,\n"
                                  "so that most of its lines are\nof about the same length.\n")),
            "prose");
  EXPECT_EQ(sentences_of(repeated("Абзац, рядки якого розбито\nпід час верстки тексту\n"
                                  "у коротких рядках.\n\nкоротко\nОдин рядок є значно довшим за "
                                  "решту рядків, бо в ньому є адреса.\n")),
            "prose");
  EXPECT_EQ(
      sentences_of(repeated("Lines of one length.\nEach is a sentence.\nThis one is third.\n")),
      "lines");
  EXPECT_EQ(sentences_of(repeated("a text without capitals\nor marks\nin each of its lines\n")),
            "lines");
  EXPECT_EQ(sentences_of("One.\nTwo.\nThree.\nFour.\nFive.\nSix.\n"), "prose");  // one document
}

TEST(Starter, EvaluatesAShortRunTenTimes) {
  const auto recipe = [](std::int64_t steps) {
    return starter_text({.size = model_size("tiny", "test"), .steps = steps});
  };
  EXPECT_THAT(recipe(513), HasSubstr("\n  every: 51 "));
  EXPECT_THAT(recipe(5), HasSubstr("\n  every: 1 "));
  EXPECT_THAT(recipe(100000), HasSubstr("\n  every: 1000 "));
}

TEST(Starter, ChecksSeveralFilesForSentenceLines) {
  const TempDir dir;
  io::write_file(dir.file("a"), "A title\n");
  std::string lines;
  for (int i = 0; i < 8; ++i) lines += "One sentence.\nAnother, longer one.\nYes.\n\n";
  io::write_file(dir.file("b"), lines);
  EXPECT_FALSE(text_size({dir.file("a")})->has_sentence_lines);
  EXPECT_TRUE(text_size({dir.file("a"), dir.file("b")})->has_sentence_lines);
}

TEST(Advice, RecommendsTheLargestModelThatTheTextIsEnoughFor) {
  const TempDir dir;
  AdviceJob job{.input = dir.file("text"),
                .types = cost_model::find_accelerators("test", "v3-8,h100")};
  const cost_model::Prices prices;
  const std::string paragraph = std::string(998, 'a') + "\n\n";
  const auto text_of = [&](std::size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += paragraph;
    return text;
  };
  io::write_file(job.input, text_of(200'000));
  const Advice few = advise(job, prices);
  EXPECT_EQ(few.rows.size(), 10u);
  ASSERT_TRUE(few.best);
  EXPECT_EQ(few.rows[*few.best].size.name, "tiny");
  EXPECT_THAT(advice_text(few, job), HasSubstr("this text is too small even for this model"));
  for (const AdviceRow& row : few.rows) {
    EXPECT_LE(row.passes, 41.0);
    EXPECT_LE(row.dollars.likely, 50);
  }
  io::write_file(dir.file("more"), text_of(30'000'000));
  job.input = dir.file("more");
  const Advice more = advise(job, prices);
  EXPECT_EQ(more.rows[*more.best].size.name, "mini");
  EXPECT_THAT(advice_text(more, job), HasSubstr(str("* row ", *more.best + 1, ": ")));
  io::write_file(dir.file("r.yaml"), advised_recipe(more.rows[*more.best], job, more.text));
  const Recipe r = load_recipe(dir.file("r.yaml"), {"train.device=cpu"});
  EXPECT_EQ(r.train.steps, more.rows[*more.best].steps);
  EXPECT_EQ(r.model["hidden_size"], 256);
}

// The runs of bench/published_runs.py with the work of their compiled steps.
TEST(Advice, EstimatesTheWorkOfPublishedRunsAsPlansDo) {
  const Json file = Json::parse(io::read_file(source_path("tests/golden/published_runs.json")));
  int runs = 0;
  for (const Json& run : file.at("runs")) {
    const std::string name = run.at("name"), sequences = run.at("sequences");
    const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
    const std::size_t by = sequences.find(" x ");
    const bool is_of_encoder = has("BERT") || has("bert") || has("ELECTRA");
    if (!is_of_encoder || has("TF32") || run.value("work", 0.0) == 0 ||
        sequences.find("and") != sequences.npos)
      continue;
    if (has("small")) continue;  // ELECTRA-small is not a standard size
    const cost_model::StepWork work = advised_work(
        {.size = model_size(has("large") ? "large" : "base", "test"),
         .kind = has("ELECTRA") ? "electra" : "bert",
         .batch = std::stoll(sequences.substr(0, by)),
         .tokens = std::stoll(sequences.substr(by + 3))},
        cost_model::find_accelerators("test", run.at("on").get<std::string>()).front());
    EXPECT_NEAR(work.work / run.at("work").get<double>(), 1, 0.25) << name;
    ++runs;
  }
  EXPECT_EQ(runs, 18);
}

// The plan uses a fake compiler that returns the estimated work.
TEST(Advice, AgreesWithAPlanOfTheRecipeThatItWrites) {
  REQUIRE_PLUGIN("tpu");
  const TempDir dir;
  AdviceJob job{.input = dir.file("text"), .types = cost_model::find_accelerators("test", "v3-8")};
  io::write_file(job.input, std::string(3'000'000, 'a'));
  const cost_model::Prices prices;
  const Advice advice = advise(job, prices);
  const AdviceRow& tiny = advice.rows.front();
  const std::string yaml = dir.file("r.yaml"), compiler = dir.file("smelt.sh");
  io::write_file(yaml, advised_recipe(tiny, job, advice.text));
  const double cycles = tiny.plan.form().work.work / tiny.plan.type.seconds_of(1);
  io::write_file(compiler,
                 str(R"(#!/bin/sh
echo '{"argument_bytes": 1, "output_bytes": 1, "alias_bytes": 1, "temporary_bytes": 1, "code_bytes": 1,
  "unread": 0, "moved_bytes": 1, "compile_s": 0, "scheduled": )",
                     cycles, R"(,
  "sent_bytes": {"data": {"all_reduce": )",
                     2 * 7 / 8.0 * 4 * (2 * 12 * 128 * 128 + 2 * 8000 * 128),
                     R"(, "other": 0, "asynchronous_all_reduce": 0, "asynchronous_other": 0}}}'
)"));
  ASSERT_EQ(::chmod(compiler.c_str(), 0700), 0);
  const Plan plan = plan_run(
      {.run_on =
           [&](const cost_model::Accelerator& on) { return planned_run(recipe_on(on, yaml, {})); },
       .types = job.types},
      cost_model::TpuCompiles("", {.smelt = compiler}), prices);
  const PlanRow& row = plan.rows.front();
  EXPECT_EQ(row.work.steps, tiny.steps);
  EXPECT_NEAR(row.form().step->likely / tiny.plan.form().step->likely, 1, 0.01);
  EXPECT_NEAR(row.time.seconds.likely / 3600 / tiny.hours.likely, 1, 0.03);
  EXPECT_NEAR(row.cost.on_demand->likely / tiny.dollars.likely, 1, 0.03);
  EXPECT_NEAR(row.work.checkpoint_bytes / tiny.plan.work.checkpoint_bytes, 1, 0.1);
  EXPECT_THAT(advice_text(advice, job),
              AllOf(HasSubstr("v3-8 48.0 %"),
                    HasSubstr("1.07 (0.8 to 1.5) on TPUs (Chinese-ELECTRA on a v3-8)"),
                    HasSubstr("took 5.7 times its likely time")));
}

TEST(RecipeFile, RejectsEmptyFilesOtherEncodingsAndAFileAsOut) {
  const TempDir dir;
  const auto refusal = [&](const char* name, const std::string& text,
                           const std::vector<std::string>& settings) {
    io::write_file(dir.file(name), text);
    return error_of<UsageError>([&] { (void)load_recipe(dir.file(name), settings); });
  };
  EXPECT_THAT(refusal("latin1.yaml", "text: {input: a}\nout: caf\xE9\n", {}),
              HasSubstr("latin1.yaml:2: not UTF-8 (1 byte)\n  hint: save the file as UTF-8"));
  EXPECT_THAT(refusal("empty.txt", "", {}),
              HasSubstr("empty.txt: the file is empty\n  hint: write a recipe"));
  EXPECT_THAT(refusal("r.yaml", "model: {hidden_size: 12}\n",
                      {"text.input=a", "out=" + dir.file("r.yaml")}),
              HasSubstr("r.yaml', which is a file, not a folder\n  hint: name a folder"));
}

TEST(Advice, RejectsAnEmptyText) {
  const TempDir dir;
  io::write_file(dir.file("empty.txt"), "");
  const AdviceJob job{.input = dir.file("empty.txt"),
                      .types = cost_model::find_accelerators("test", "v3-8")};
  EXPECT_THAT(error_of<UsageError>([&] { (void)advise(job, cost_model::Prices()); }),
              HasSubstr("empty.txt contains no text"));
}

TEST(Advice, RejectsATextInAnotherEncodingAndNamesTypesWithoutAPrice) {
  const TempDir dir;
  const std::string path = dir.file("t.txt");
  io::write_file(
      path,
      "caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 "
      "caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9 caf\xe9.\n");
  AdviceJob job{.input = path, .types = cost_model::find_accelerators("test", "rtx3090,v3-8")};
  EXPECT_THAT(error_of<UsageError>([&] { (void)advise(job, cost_model::Prices()); }),
              HasSubstr("not UTF-8"));
  std::string text;
  for (int i = 0; i < 90; ++i) text += str("Sentence ", i, ".\n\n");
  io::write_file(path, text);
  EXPECT_THAT(
      advice_text(advise(job, cost_model::Prices()), job),
      HasSubstr("omitted because no price is known (add prices with --prices FILE): rtx3090\n"));
  job.types = cost_model::find_accelerators("test", "rtx3090");
  EXPECT_THAT(
      error_of<UsageError>([&] { (void)advise(job, cost_model::Prices()); }),
      HasSubstr("advise: no price is known for rtx3090\n  hint: give prices with --prices"));
}

TEST(FieldHints, SuggestFieldsForNamesOfOtherPrograms) {
  const auto hint = [](const std::string& setting) {
    return error_of<UsageError>([&] { recipe_of({}, "test", {setting}); });
  };
  for (const auto& [name, field] :
       {std::pair{"lr", "train.optimizer.learning_rate"},
        {"num_train_epochs", "train.epochs"},
        {"per_device_train_batch_size", "train.batch_size (over all train.devices)"},
        {"train.bf16", "train.precision.compute"},
        {"fp16", "train.precision.compute"},
        {"lr_scheduler_type", "train.schedule.type"},
        {"max_seq_length", "data.seq_length"},
        {"save_steps", "train.checkpoint.save_interval_steps"},
        {"eval_steps", "eval.every"}})
    EXPECT_THAT(hint(str(name, "=1")), HasSubstr(str("hint: this is ", field))) << name;
  for (const auto& [name, field] :
       {std::pair{"learning_rate", "train.optimizer.learning_rate"},
        {"warmup_steps", "train.schedule.warmup_steps"},
        {"weight_decay", "train.optimizer.weight_decay"},
        {"gradient_accumulation_steps", "train.gradient_accumulation_steps"}})
    EXPECT_THAT(hint(str(name, "=1")), HasSubstr(str("did you mean '", field, "'?"))) << name;
  EXPECT_EQ(
      recipe_of({{"train.steps", "1e3"}}, "test", {"train.checkpoint.save_interval_steps=1_0"})
          .train.steps,
      1000);
}

}  // namespace
}  // namespace smelt::pipeline
