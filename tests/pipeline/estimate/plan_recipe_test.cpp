// Tests of plans for TPUs that are not on this machine: memory, variants, time and cost.
#include "pipeline/estimate/plan_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "compiler/stablehlo/writer.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/estimate/plan_text.h"
#include "support/captured_log.h"
#include "support/command.h"
#include "support/environment.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"
#include "train/job_program.h"

namespace smelt::pipeline {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;

// A model of two layers, which libtpu compiles in seconds. Its text does not exist.
constexpr const char* kRecipe = R"(out: m
text: {input: nothing-yet.txt}
vocab: {size: 200}
model: {type: bert, max_position_embeddings: 512, hidden_size: 16, num_hidden_layers: 2, num_attention_heads: 2,
        intermediate_size: 32}
data: {seq_length: 8, max_predictions: 2}
train: {batch_size: 16, steps: 1000}
)";

class PlanRecipe : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("tpu");
    io::write_file(path_, kRecipe);
  }
  Plan plan(const std::string& on, const std::vector<std::string>& settings = {},
            bool largest_batch = false) const {
    return plan_run({.run_on =
                         [&](const cost_model::Accelerator& type) {
                           return planned_run(recipe_on(type, path_, settings));
                         },
                     .types = cost_model::find_accelerators("--on", on),
                     .largest_batch = largest_batch,
                     .steps_only = true},
                    compiles(), prices_);
  }

  // Returns a script that replaces smelt's compile command. Programs ("$last") for which the shell
  // command `too_large` succeeds do not fit.
  std::string stub_compiler(const std::string& too_large) const {
    const std::string program = dir_.file("smelt.sh");
    io::write_file(program, str("#!/bin/sh\nfor last; do :; done\nif ", too_large, R"(; then
  echo 'error: it does not fit into the memory of a device: 9 of 8' >&2
  exit 2
fi
echo '{"argument_bytes": 1, "output_bytes": 1, "alias_bytes": 1, "temporary_bytes": 1, "code_bytes": 1, "scheduled": 1e6,
       "unread": 0, "moved_bytes": 1, "sent_bytes": {}, "compile_s": 0}'
)"));
    EXPECT_EQ(::chmod(program.c_str(), 0700), 0);
    return program;
  }

  cost_model::TpuCompiles compiles() const {
    return {dir_.file("kept"), {.smelt = smelt_program()}};
  }

  TempDir dir_;
  const std::string path_ = dir_.file("r.yaml");
  const cost_model::Prices prices_;
};

TEST_F(PlanRecipe, PackedStepsTakeTheirShareOfTheTime) {
  const std::string smelt = stub_compiler("false");
  const auto seconds = [&](double packed_time) {
    const Plan made = plan_run({.run_on =
                                    [&](const cost_model::Accelerator& type) {
                                      PlannedRun run = planned_run(recipe_on(type, path_, {}));
                                      run.packed_time = packed_time;
                                      return run;
                                    },
                                .types = cost_model::find_accelerators("--on", "v3-8"),
                                .steps_only = true},
                               {dir_.file("kept"), {.smelt = smelt}}, prices_);
    return made.rows.at(0).form().step->likely;
  };
  EXPECT_DOUBLE_EQ(seconds(0.5), seconds(1) / 2);
}

TEST_F(PlanRecipe, PlansEachTypeWithItsOwnProgram) {
  const Plan plan = this->plan("v2-8,v5litepod-1");
  ASSERT_EQ(plan.rows.size(), 2u);
  for (const PlanRow& row : plan.rows) {
    SCOPED_TRACE(row.type.name);
    ASSERT_TRUE(row.fits());
    EXPECT_EQ(row.batch, 16);
    EXPECT_EQ(row.tokens, 8);
    EXPECT_EQ(row.form().words, "loop");
    const cost_model::Estimate& step = *row.form().step;
    EXPECT_LT(step.low, step.likely);
    EXPECT_LT(step.likely, step.high);
    EXPECT_NEAR(row.time.seconds.likely, cost_model::kStartSeconds + 1000 * step.likely, 5);
    EXPECT_GT(row.share_of_peak(), 0);
    EXPECT_LT(row.share_of_peak(), 1);
    EXPECT_NEAR(row.cost.on_demand->likely,
                *row.price->on_demand * row.type.chips * row.time.seconds.likely / 3600, 1e-9);
  }
  const auto& told = plan.rows[0].form().compiled.sent;
  ASSERT_EQ(told.size(), 1u) << "eight cores add their gradients up";
  EXPECT_EQ(told[0].axes, "data");
  // Each core sends seven eighths of the sum twice: the gradients of all parameters except unused
  // positions (the word embeddings count twice, as input and as output layer), and the losses.
  constexpr double kRow = 16 * 4;  // bytes of a token's or a position's vector
  const double summed = plan.rows[0].parameter_bytes - (512 - 8) * kRow + 200 * kRow;
  EXPECT_NEAR(told[0].all_reduce, 2 * 7.0 / 8 * summed, 100);
  EXPECT_TRUE(plan.rows[1].form().compiled.sent.empty());
  ASSERT_TRUE(plan.fastest && plan.cheapest);
  const auto seconds = [&](std::size_t row) { return plan.rows[row].time.seconds.likely; };
  EXPECT_LE(seconds(*plan.fastest), seconds(1 - *plan.fastest));
}

TEST_F(PlanRecipe, PlansAGpuByItsRoofline) {
  const Plan plan = this->plan("l4,h100x2", {"train.precision.compute=bf16", "data.seq_length=16"});
  for (const PlanRow& row : plan.rows) {
    SCOPED_TRACE(row.type.name);
    ASSERT_TRUE(row.fits());
    const PlannedForm& form = row.form();
    EXPECT_EQ(form.words, "loop");
    EXPECT_EQ(form.products.of, compiler::DType::bf16);
    // The forward pass, twice as much for gradients, and rematerialized attention scores.
    EXPECT_GT(form.products.flops * row.type.devices, row.flops);
    EXPECT_LT(form.products.flops * row.type.devices, 1.4 * row.flops);
    EXPECT_NEAR(form.step->likely,
                cost_model::kGpuFactor.likely * (form.products.flops / row.type.flops +
                                                 form.compiled.moved / row.type.bandwidth) +
                    (row.type.devices > 1
                         ? cost_model::communication_seconds(row.type, form.compiled.sent.at(0))
                         : 0),
                1e-9);
  }
  EXPECT_THAT(plan_text(plan),
              AllOf(HasSubstr("~"), HasSubstr("marks rougher estimates: a GPU's time")));
}

TEST_F(PlanRecipe, CompilesOnceForTypesThatShareAProgramAndLogsIt) {
  const cost_model::TpuCompiles stub(
      "", {.smelt = stub_compiler(str("echo >>", dir_.file("compiled"), "; false"))});
  const CapturedLog log;
  const Plan plan =
      plan_run({.run_on =
                    [&](const cost_model::Accelerator& type) {
                      return planned_run(recipe_on(type, path_, {"data.seq_length=16"}));
                    },
                .types = cost_model::find_accelerators("--on", "l4,h100"),
                .steps_only = true},
               stub, prices_);
  EXPECT_TRUE(plan.rows[0].fits() && plan.rows[1].fits());
  EXPECT_EQ(io::read_file(dir_.file("compiled")), "\n");
  EXPECT_THAT(log.text(), HasSubstr("plan: compiling for l4 (type 1 of 2): the step, loop\n"));
}

TEST_F(PlanRecipe, ReportsTheCompilersMessageAndFindsASmallerVariant) {
  // The activations of many layers fill the memory; as a loop they do not take longer to compile.
  const Plan plan = this->plan("v5litepod-1", {"model.num_hidden_layers=30000"});
  const PlanRow& row = plan.rows.front();
  ASSERT_FALSE(row.tried.empty());
  EXPECT_EQ(row.tried.front().compiled.end, cost_model::CompileEnd::does_not_fit);
  EXPECT_THAT(row.tried.front().compiled.problem, HasSubstr("exceeds available HBM (15."));
  ASSERT_TRUE(row.fits());
  EXPECT_THAT(row.form().settings.front(), "train.memory.layers=scan");
  for (std::size_t i = 0; i + 1 < row.tried.size(); ++i)
    EXPECT_FALSE(row.tried[i].step) << "the first that fits ends the search";
}

TEST_F(PlanRecipe, PlansScannedLayersIfUnrolledOnesDoNotFit) {
  // Programs without a loop are too large for this compiler.
  const cost_model::TpuCompiles stub(
      "", {.smelt = stub_compiler("! grep -q 'stablehlo.while' \"$last\"")});
  const PlanRow row =
      plan_run({.run_on =
                    [&](const cost_model::Accelerator& type) {
                      return planned_run(recipe_on(type, path_, {"train.memory.layers=unrolled"}));
                    },
                .types = cost_model::find_accelerators("--on", "v5litepod-1"),
                .steps_only = true},
               stub, prices_)
          .rows.front();
  ASSERT_EQ(row.tried.size(), 2u);
  EXPECT_EQ(row.tried.front().words, "unrolled");
  EXPECT_EQ(row.tried.front().compiled.end, cost_model::CompileEnd::does_not_fit);
  EXPECT_FALSE(row.tried.front().step);
  ASSERT_TRUE(row.fits());
  EXPECT_EQ(row.form().words, "loop");
  EXPECT_THAT(row.form().settings, ElementsAre("train.memory.layers=scan"));
}

TEST_F(PlanRecipe, FindsTheLargestBatchThatFits) {
  // A batch of 128 needs 11 of 16 GiB, so twice the batch does not fit.
  const std::vector<std::string> deep{"model.num_hidden_layers=30000", "model.hidden_size=8",
                                      "model.num_attention_heads=1", "model.intermediate_size=8",
                                      "train.batch_size=128"};
  const Plan plan = this->plan("v5litepod-1", deep, true);
  const std::int64_t largest = plan.rows.front().largest_batch.value();
  EXPECT_GE(largest, 128);
  ASSERT_TRUE(plan.rows.front().form().settings.empty());
  const cost_model::Accelerator type = cost_model::find_accelerators("--on", "v5litepod-1").front();
  train::TrainJob job = planned_run(recipe_on(type, path_, deep)).job;
  job.config.batch_size = 2 * largest;
  const cost_model::CompileRequest next{
      .program = compiler::emit_module(train::training_program(job, "tpu").program, "step"),
      .topology = type.topology};
  const auto compiled = compiles().run({{next}}).front();
  EXPECT_EQ(compiled.end, cost_model::CompileEnd::does_not_fit);
  EXPECT_TRUE(compiled.from_cache) << "it is what the search ended with";
}

TEST_F(PlanRecipe, HalvesABatchThatFitsInNoVariant) {
  // Batches of 64 and 32 are too large for this compiler.
  const std::string program = stub_compiler("grep -qE 'tensor<(64|32)x8xi32>' \"$last\"");
  PlanJob job{.run_on =
                  [&](const cost_model::Accelerator& type) {
                    return planned_run(recipe_on(type, path_, {"train.batch_size=64"}));
                  },
              .types = cost_model::find_accelerators("--on", "v5litepod-1"),
              .largest_batch = true,
              .steps_only = true};
  const PlanRow row =
      plan_run(job, cost_model::TpuCompiles("", {.smelt = program}), prices_).rows.front();
  EXPECT_FALSE(row.fits());
  EXPECT_EQ(row.tried.back().words, "loop, layer rematerialization, 16 micro-batches");
  EXPECT_EQ(row.largest_batch, 16);
  EXPECT_THAT(plan_text({.rows = {row}, .cheapest = {}, .fastest = {}}),
              AllOf(HasSubstr("not possible: 9 of 8"), HasSubstr("batch      16 fits as loop")));
  // A variant that saves only layers needs no setting, because the run selects it automatically.
  job.run_on = [&](const cost_model::Accelerator& type) {
    return planned_run(recipe_on(type, path_, {"train.batch_size=16"}));
  };
  job.largest_batch = false;
  PlanRow small =
      plan_run(job, cost_model::TpuCompiles("", {.smelt = program}), prices_).rows.front();
  ASSERT_TRUE(small.fits());
  EXPECT_TRUE(small.is_selected_automatically());
  small.tried.insert(small.tried.begin(), row.tried.front());
  small.tried.back().settings = {"train.memory.remat_policy=layer"};
  small.tried.back().turn = 1;
  small.best = 1;
  const auto text = [&] { return plan_text({.rows = {small}, .cheapest = {}, .fastest = {}}); };
  EXPECT_THAT(
      text(),
      HasSubstr("variant    selected automatically, because 1 variant before it did not fit; "
                "--set train.memory.remat_policy=layer skips compiling it"));
  small.tried.back().turn.reset();
  EXPECT_THAT(text(), HasSubstr("needs      --set train.memory.remat_policy=layer"));
}

TEST_F(PlanRecipe, PlansOtherTypesIfOneIsNotPossible) {
  const Plan plan = this->plan("v2-8,v5litepod-4", {"train.parallelism.mesh=data=2,fsdp=2"});
  EXPECT_THAT(
      plan.rows[0].problem,
      AllOf(HasSubstr("on a v2-8: --set: train.parallelism.mesh 'data=2,fsdp=2' has 4 devices, but "
                      "train.devices is 8"),
            HasSubstr("choose axis sizes whose product is the number of devices")));
  EXPECT_FALSE(plan.rows[0].fits());
  ASSERT_TRUE(plan.rows[1].fits());
  EXPECT_EQ(plan.fastest, 1u);
  std::map<std::string, cost_model::SentBytes> told;
  for (const cost_model::SentBytes& sent : plan.rows[1].form().compiled.sent)
    told[sent.axes] = sent;
  EXPECT_GT(told["fsdp"].other, 0) << "parameters are gathered";
  EXPECT_GT(told["data"].all_reduce + told["data+fsdp"].all_reduce, 0);
  EXPECT_THAT(error_of<UsageError>([&] { this->plan("v2-8", {"train.parallelism.mesh=data=3"}); }),
              HasSubstr("on a v2-8: --set: train.parallelism.mesh 'data=3' has 3 devices, but "
                        "train.devices is 8"));
  EXPECT_THAT(
      error_of<UsageError>([&] { this->plan("v2-8", {"train.parallelism.mesh=data=2,tensor=4"}); }),
      AllOf(HasSubstr("on a v2-8: "), HasSubstr("which 4 devices of axis 'tensor' do not divide")));
}

TEST_F(PlanRecipe, PlansWithTheRecipesSizesIfWeightsAreMissing) {
  const Plan plan = this->plan("v5litepod-1", {"train.init_from=gone/bert_model.ckpt"});
  EXPECT_TRUE(plan.rows[0].fits());
  EXPECT_THAT(
      plan_text(plan),
      HasSubstr("init: there is no gone/bert_model.ckpt; planned for the sizes that are known"));
}

TEST_F(PlanRecipe, PlansADryRunWithoutTpus) {
  if (io::exists("/dev/accel0") || io::exists("/dev/vfio/0")) GTEST_SKIP() << "a TPU is here";
  const ScopedVariable cache("XDG_CACHE_HOME", dir_.file("cache"));
  const ScopedVariable none("SMELT_TPU_PLUGIN", "");
  io::write_file(dir_.file("text-1.txt"), "One sentence. Another one.\n");
  io::write_file(dir_.file("text-2.txt"), "Another text.\n");
  const CommandOutput told = run_smelt(str(
      "run --dry-run ", path_, " --set train.device=tpu --set train.devices=1 --set text.input='",
      dir_.file("text-*.txt"), "' --set out=", dir_.file("m")));
  EXPECT_EQ(told.status, 0) << told.text;
  EXPECT_THAT(told.text, AllOf(ContainsRegex("planned for a v5litepod-1 +loop, .* on each device"),
                               ContainsRegex("time +.* on a v5litepod-1, \\$.* on demand"),
                               HasSubstr("no TPU on this machine; nothing was written")));
}

TEST_F(PlanRecipe, PlansARunOfTheOriginalCommandByItsFlags) {
  const ScopedVariable cache("XDG_CACHE_HOME", dir_.file("cache"));
  io::write_file(dir_.file("bert_config.json"),
                 R"({"vocab_size": 200, "hidden_size": 16, "num_hidden_layers": 1,
                 "num_attention_heads": 2, "intermediate_size": 16})");
  const std::string flags =
      str(" -- run_pretraining --input_file=none --output_dir=none --max_seq_length=8 "
          "--max_predictions_per_seq=2 --num_train_steps=700 --bert_config_file=",
          dir_.file("bert_config.json"));
  const Json row =
      Json::parse(run_smelt("plan --on v5litepod-1 --json" + flags + " 2>/dev/null | cat").text)
          .at("rows")
          .at(0);
  EXPECT_EQ(row.at("batch"), 32);
  EXPECT_NEAR(row.at("run_seconds").at("likely"),
              cost_model::kStartSeconds + 700 * row.at("step_seconds").at("likely").get<double>(),
              1);
  expect_refusal("plan" + flags + " --num_trian_steps=3",
                 HasSubstr("did you mean '--num_train_steps'?"));
  expect_refusal("plan --set train.steps=3" + flags, HasSubstr("plan: --set with run_pretraining"));
  expect_refusal("plan --batch 64" + flags, HasSubstr("plan: --batch 64 with run_pretraining"));
  expect_refusal(
      "plan --batch more" + flags,
      HasSubstr("plan: --batch 'more' is neither an integer from 1 to 16777216 nor 'auto'"));
  expect_refusal("plan --batch 1e3 " + path_,
                 HasSubstr("--batch '1e3' is neither an integer from 1"));
  expect_refusal(
      "plan -- run_pretrainin --num_train_steps=3",
      HasSubstr("plan: 'run_pretrainin' is not a command that can be planned\n  hint: did you "
                "mean 'run_pretraining'?"));
  expect_refusal(str("plan --onn v3-8 ", path_), HasSubstr("smelt plan: unknown argument '--onn'"));
  expect_refusal("plan -- jestimator --module_imp=jestimator.models.bert.pretrain",
                 HasSubstr("give --max_train_steps"));
}

TEST_F(PlanRecipe, CalibratesTheRangeWithAMeasuredRun) {
  const auto planned = [&](std::map<std::string, cost_model::Estimate> factors) {
    return *plan_run({.run_on =
                          [&](const cost_model::Accelerator& type) {
                            return planned_run(recipe_on(type, path_, {}));
                          },
                      .types = cost_model::find_accelerators("--on", "v5litepod-1"),
                      .factors = std::move(factors)},
                     compiles(), prices_)
                .rows.front()
                .form()
                .step;
  };
  const double before = planned({}).likely;
  io::write_file(dir_.file("run/recipe.yaml"), kRecipe);
  io::write_file(dir_.file("run/.stages/names.json"), "[]");
  const auto told = [&](const std::string& device) {
    io::write_file(dir_.file("run/model/metrics.jsonl"),
                   Json{{"kind", "start"},
                        {"step", 0},
                        {"time", 1.0},
                        {"of", 9},
                        {"model", "bert"},
                        {"batch_size", 16},
                        {"devices", 1},
                        {"device", device}}
                           .dump() +
                       "\n" +
                       Json{{"kind", "line"},
                            {"step", 5},
                            {"time", 2.0},
                            {"loss", 1.0},
                            {"sequences_per_second", 16 / (2 * before)}}
                           .dump() +
                       "\n");
    return calibration(dir_.file("run"), compiles());
  };
  const auto [generation, factor] = told("TPU v5 lite");
  EXPECT_EQ(generation, "v5e");
  EXPECT_NEAR(factor.likely, 2 * cost_model::kTpuFactor.likely, 1e-3);
  const cost_model::Estimate after = planned({{generation, factor}});
  EXPECT_NEAR(after.likely, 2 * before, 1e-3 * before);
  EXPECT_NEAR(after.high / after.low, 1.1 / 0.9, 1e-3);
  EXPECT_THAT(error_of<UsageError>([&] { told("cpu"); }),
              HasSubstr("run: unknown machine: the run used 1 x cpu"));
}

TEST_F(PlanRecipe, HintsHowToInstallLibtpu) {
  // A program without a .venv in a parent folder or in the home folder.
  const std::string program = dir_.file("bin/smelt");
  io::write_file(program, io::read_file(smelt_program()));
  ASSERT_EQ(::chmod(program.c_str(), 0700), 0);
  const CommandOutput told =
      run_command(str("HOME=", dir_.file("home"), " XDG_DATA_HOME= ", "SMELT_TPU_PLUGIN= ", program,
                      " plan ", path_, " 2>&1"));
  EXPECT_EQ(told.status, 2);
  EXPECT_THAT(told.text,
              ContainsRegex("libtpu.so is not installed; looked in .*\n"
                            "  hint: run smelt setup tpu, which downloads [0-9.]+ [MG]B"));
}

TEST_F(PlanRecipe, CommandRecommendsAnAcceleratorToRent) {
  const ScopedVariable cache("XDG_CACHE_HOME", dir_.file("cache"));
  const std::string plan = str("plan ", path_, " --on v5litepod-1 --html ", dir_.file("page.html"));
  const CommandOutput text = run_smelt(plan);
  EXPECT_EQ(text.status, 0) << text.text;
  EXPECT_THAT(text.text, AllOf(HasSubstr("rent a v5litepod-1: "), HasSubstr("cheapest and fastest"),
                               HasSubstr("months old: check it"), HasSubstr("nothing was run")));
  EXPECT_THAT(io::read_file(dir_.file("page.html")),
              AllOf(HasSubstr("Hours of the run"), HasSubstr("US dollars on demand")));
  const std::string json = run_smelt(plan + " --json 2>/dev/null | cat").text;
  const Json figures = Json::parse(json);
  EXPECT_EQ(figures.at("fastest"), "v5litepod-1");
  EXPECT_EQ(figures.at("rows").at(0).at("topology"), "v5e:1x1");
  EXPECT_EQ(figures.at("rows").at(0).at("tried").at(0).at("kept"), true);
  const Json other = Json::parse(run_smelt(plan + " --batch 32 --json 2>/dev/null | cat").text);
  EXPECT_EQ(other.at("rows").at(0).at("batch"), 32);
  expect_refusal(plan + " --region mars --set train.devices=4",
                 AllOf(HasSubstr("--region: no price of 'mars' is known"),
                       HasSubstr("--set train.devices=4 has no effect in a plan")));
  expect_refusal(str("plan ", path_, " --on v5e-1"), HasSubstr("--on: 'v5e-1' is not a known TPU"));
}

}  // namespace
}  // namespace smelt::pipeline
