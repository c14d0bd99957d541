// Tests with an objective that is defined here and not in src/: it is described by a recipe,
// trained, evaluated and resumed like the built-in ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/random.h"
#include "checkpoint/storage/checkpoint.h"
#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/formats/example.h"
#include "io/formats/tfrecord.h"
#include "model/nn/layers.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/estimate/dry_run.h"
#include "pipeline/incremental/stage.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/objectives/objective_registry.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pipeline/stages/evaluation.h"
#include "pipeline/stages/pipeline.h"
#include "pipeline/stages/stage_actions.h"
#include "support/captured_log.h"
#include "support/error_of.h"
#include "support/missing.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::pipeline {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Records with numbers x and their weighted sum y.
std::uint64_t make_sums(const Recipe& r, ExampleSet set) {
  const bool train = set == ExampleSet::train;
  PythonRandom random(train ? 1 : 2);
  io::ExampleWriter writer;
  std::string out;
  for (std::int64_t i = 0; i < r.data["examples"]; ++i) {
    std::vector<float> x(r.model["width"].get<std::size_t>()), y{0};
    for (std::size_t j = 0; j < x.size(); ++j) {
      x[j] = static_cast<float>(random.random());
      y[0] += static_cast<float>(j + 1) * x[j];
    }
    writer.reals("x", x);
    writer.reals("y", y);
    io::append_record(out, writer.take());
  }
  const RecipePaths paths(r);
  io::write_file(train ? paths.train_records : paths.heldout_records, out);
  return r.data["examples"];
}

// The model y = x w + b with the mean squared error.
model::Objective line(const model::Scope& root, const model::Inputs& in) {
  const compiler::Tensor y = in["y"],
                         guess = model::dense(root / "line", in["x"], 1, {.value = 0.5});
  const compiler::Tensor sum =
      compiler::reduce_sum(model::square(compiler::reshape(guess, y.dims()) - y), {0});
  return {.losses = {{.name = "square_error",
                      .sum = sum,
                      .weight = compiler::full_like(sum, static_cast<double>(y.dim(0)))}},
          .metrics = {}};
}

model::Task line_task(const Recipe& r) {
  model::Task task;
  task.name = "line";
  task.settings = {{"model", r.model}};
  task.features = {{.name = "x", .dtype = compiler::DType::f32, .row = {r.model["width"]}},
                   {.name = "y", .dtype = compiler::DType::f32}};
  task.objective = line;
  return task;
}

// A sampler that simulates Ctrl-C.
class StoppingSampler : public execution::TextSampler {
 public:
  std::string kind() const override { return "filled"; }
  std::vector<execution::TextSample> sample(const checkpoint::SlicedTensors&,
                                            const std::string&) const override {
    std::raise(SIGINT);
    return {};
  }
};

ObjectiveType line_type() {
  ObjectiveType type;
  type.name = "line";
  type.help = "a weighted sum";
  type.model = {{"width", 4, "numbers in x"}};
  type.data = {{"examples", 256, "records of each set"}};
  type.reads = Reads::nothing;
  type.make_examples = make_sums;
  type.task = line_task;
  type.sampler = [](auto&&...) { return std::make_unique<const StoppingSampler>(); };
  return type;
}

class ToyObjective : public testing::Test {
 protected:
  static void SetUpTestSuite() { add_objective_type(line_type()); }
  Recipe recipe(const std::string& out, const std::vector<std::string>& more = {}) {
    io::write_file(dir_.file("r.yaml"),
                   "model: {type: line, width: 3}\n"
                   "train: {steps: 400, optimizer.learning_rate: 0.05, optimizer.weight_decay: 0, "
                   "checkpoint.save_interval_steps: 100}\n");
    std::vector<std::string> settings{"out=" + dir_.file(out)};
    settings.insert(settings.end(), more.begin(), more.end());
    return load_recipe(dir_.file("r.yaml"), settings);
  }

  CapturedLog log_;
  TempDir dir_;
};

TEST_F(ToyObjective, ParsesAndValidatesRecipeFields) {
  EXPECT_EQ(recipe("a").model, Json({{"type", "line"}, {"width", 3}}));
  EXPECT_EQ(recipe("a").data["examples"], 256);
  EXPECT_EQ(recipe("a", {"model.width=010"}).model["width"], 10);  // not octal
  EXPECT_THAT(error_of([&] { recipe("a", {"model.widht=2"}); }),
              HasSubstr("did you mean 'model.width'?"));
  EXPECT_THAT(error_of([&] { recipe("a", {"model.width=many"}); }),
              HasSubstr("--set: model.width is 'many', not a whole number"));
  EXPECT_THAT(error_of([&] { recipe("a", {"model.type=lime"}); }),
              HasSubstr("--set: model.type is 'lime'\n  hint: did you mean 'line'?"));
  EXPECT_THAT(error_of([&] { recipe("a", {"model.hidden_size=2"}); }),
              HasSubstr("unknown field 'model.hidden_size'"));
  bool listed = false;
  for (const RecipeField& field : recipe_fields("line")) listed |= field.path == "model.width";
  EXPECT_TRUE(listed);
}

TEST_F(ToyObjective, TrainsEvaluatesAndResumes) {
  SMELT_OPEN_CPU(client, 1);
  const Recipe whole = recipe("whole");
  run_recipe(whole);
  const execution::Evaluation e = evaluate_model(whole);
  EXPECT_LT(e.measure("square_error").value, 1e-3);
  EXPECT_EQ(e.examples, 256);
  EXPECT_EQ(io::read_file(RecipePaths(whole).evaluation), evaluation_text(e));
  EXPECT_THAT(error_of([&] {
                PretrainedModel::of_recipe(whole, {.task = InferenceTask::fill_mask})
                    .fill_mask({"[MASK]"}, 1);
              }),
              HasSubstr("fill: a model of type line has no masked-LM head"));
  EXPECT_THAT(error_of([&] { export_model(whole, dir_.file("x")); }),
              HasSubstr("export: a model of type line cannot be exported"));

  const Recipe resumed = recipe("resumed");
  make_examples(resumed);
  const std::string kept = "/checkpoint-200", from = RecipePaths(whole).model_dir,
                    to = RecipePaths(resumed).model_dir;
  fs::create_directories(to);
  fs::copy(from + kept, to + kept, fs::copy_options::recursive);
  EXPECT_EQ(train_model(resumed).first_step, 200);
  const checkpoint::Checkpoint got = checkpoint::load_checkpoint(to, 400),
                               want = checkpoint::load_checkpoint(from, 400);
  for (const auto& [name, view] : want.tensors)
    EXPECT_EQ(io::tensor_values<float>(got.tensors.at(name)), io::tensor_values<float>(view))
        << name;
  EXPECT_THAT(error_of([&] { train_model(recipe("resumed", {"model.width=2"})); }),
              HasSubstr("x has 3 values, not 2"));
}

TEST_F(ToyObjective, RunsOnlyTheStagesOfItsObjective) {
  SMELT_OPEN_CPU(client, 1);
  const Recipe few = recipe("few", {"train.steps=3"});
  EXPECT_THAT(dry_run_text(few, {}),
              AllOf(HasSubstr("  examples held out "), Not(HasSubstr("  vocabulary  "))));
  run_recipe(few);
  EXPECT_THAT(error_of([&] { recipe("a,b"); }),
              HasSubstr("a,b': must not contain a comma, *, ? or [, which form a file pattern"));
  EXPECT_THAT(io::list_folder(few.out),
              testing::ElementsAre(".stages", "data", "model", "recipe.yaml"));
  EXPECT_THAT(dry_run_text(few, {}), HasSubstr("   step 3\n"));
  EXPECT_THAT(error_of([&] { dry_run_text(recipe("few", {"train.seed=9"}), {}); }),
              HasSubstr("checkpoint-3: was made with train.seed 12345, this run has 9"));
  EXPECT_EQ(stage_before_training(few.out), "train");
  forget_stage(few.out, "data");
  EXPECT_EQ(stage_before_training(few.out), "data");
  run_recipe(few);
  run_recipe(few);
  for (const char* stage : {"data", "train", "eval"})
    EXPECT_THAT(log_.text(), HasSubstr(str(stage, ": up to date")));
  EXPECT_THAT(error_of([&] { run_recipe(recipe("few", {"model.width=2"})); }),
              HasSubstr("contains a model of other data: model.width was 3, is 2"));
}

TEST_F(ToyObjective, ASignalInTheLastEvaluationStopsBeforeTheNextStage) {
  SMELT_OPEN_CPU(client, 1);
  const Recipe few = recipe("few", {"train.steps=3", "eval.every=3", "track.fill=x"});
  EXPECT_THAT(error_of([&] { run_recipe(few); }),
              HasSubstr("run: stopped by a signal after the model was trained and saved"));
  EXPECT_FALSE(io::exists(RecipePaths(few).evaluation));
  run_recipe(few);
  EXPECT_THAT(log_.text(), HasSubstr("train: up to date"));
  EXPECT_TRUE(io::exists(RecipePaths(few).evaluation));
}

TEST_F(ToyObjective, ReplaysAStepThatIsNotFinite) {
  SMELT_OPEN_CPU(client, 1);
  const Recipe wild = recipe("wild", {"train.optimizer.learning_rate=1e30", "train.ema_decay=0.9"});
  EXPECT_THAT(error_of([&] { replay_model(wild, ""); }), HasSubstr("contains no bad-batch-<step>"));
  make_examples(wild);
  const std::string message = error_of([&] { train_model(wild); });
  EXPECT_THAT(message, AllOf(HasSubstr("tensor of the backward pass is the gradient of line/"),
                             HasSubstr("its batch and the state before it are in ")));
  const train::GradientReport report = replay_model(wild, "");
  EXPECT_FALSE(std::isfinite(report.loss));
  ASSERT_EQ(report.of.size(), 2u);
  EXPECT_EQ(report.of[0].parameter, "line/kernel");
  EXPECT_THAT(error_of([&] { replay_model(recipe("wild", {"model.width=2"}), ""); }),
              HasSubstr("was made with model.width 3, this run has 2"));
}

}  // namespace
}  // namespace smelt::pipeline
