// Runs all commands that compute with the defaults of a TPU or GPU: layers in a scan that saves the
// results of matmuls, and a model that is split over a mesh of several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "base/random.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "model/train_step/sharding_plan.h"
#include "support/command.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double kOtherForm = 1e-4;  // relative tolerance: sums are added in another order

constexpr const char* kElectra =
    "text: {heldout: 0.2, dedup: none, sentences: lines}\n"
    "vocab: {size: 60, min_frequency: 1}\n"
    "data: {seq_length: 16}\n"
    "model: {type: electra, hidden_size: 16, embedding_size: 8, num_hidden_layers: 2,"
    " num_attention_heads: 2, intermediate_size: 32, generator_hidden_size: 1.0,"
    " max_position_embeddings: 20, vocab_size: 64}\n"
    "train: {batch_size: 8, steps: 4, schedule.warmup_steps: 2, schedule.type: electra, "
    "checkpoint.save_interval_steps: 2,"
    " checkpoint.best_metric: masked_lm_loss}\n"
    "eval: {batch_size: 8, every: 2}\n"
    "track: {fill: 'the [MASK] house', histograms_every: 2}\n";
// Four devices: `fsdp` splits the parameters and the batch over two, and `tensor` the feed-forward
// layers and the vocabulary over two. The attention heads are not split.
constexpr const char* kMesh =
    " --set train.devices=4 --set train.parallelism.mesh=fsdp=2,tensor=2 --set "
    "train.parallelism.rules=heads=none";
constexpr const char* kOneDevice =
    " --set train.devices=1 --set train.parallelism.mesh=auto --set train.memory.layers=unrolled "
    "--set train.memory.remat_policy=all";

class DeviceForm : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRE_PLUGIN("cpu");
    const std::vector<std::string> words{"river", "house", "green", "walks", "never", "old"};
    PythonRandom random(7);
    std::string text;
    for (int document = 0; document < 60; ++document, text += "\n")
      for (int sentence = 0; sentence < 3; ++sentence, text += ".\n") {
        text += "The";
        for (int i = 0; i < 7; ++i)
          text += " " + words[static_cast<std::size_t>(random.randint(0, 5))];
      }
    io::write_file(dir_.file("in.txt"), text);
    io::write_file(dir_.file("r.yaml"), kElectra);
  }

  // Runs the command on the recipe with the settings `form` and `more`. Returns all that it prints,
  // including standard error.
  std::string says(const std::string& command, const std::string& form,
                   const std::string& more = "") const {
    const CommandOutput out =
        run_smelt(str(command, " ", dir_.file("r.yaml"), " --set out=", dir_.file("out"),
                      " --set text.input=", dir_.file("in.txt"), form, more));
    EXPECT_EQ(out.status, 0) << out.text;
    return out.text;
  }
  std::string on_mesh(const std::string& command, const std::string& more = "") const {
    return says(command, form_, more);
  }
  static std::vector<Json> lines_of_json(const std::string& text) {
    std::vector<Json> out;
    for (const std::string_view line : split(text, '\n'))
      if (line.starts_with("{")) out.push_back(Json::parse(line));
    return out;
  }
  // Runs a command and returns its standard output, which has the results without the log.
  std::string answers(const std::string& arguments) const {
    const CommandOutput out = run_smelt(arguments + " 2>" + dir_.file("log"));
    EXPECT_EQ(out.status, 0) << out.text << io::read_file(dir_.file("log"));
    return out.text;
  }

  // Settings of the mesh, and of what compute_for() chooses on a TPU.
  const model::ComputePolicy tpu_ = model::compute_for("tpu", {});
  const std::string form_ =
      str(kMesh,
          " --set train.memory.layers=", tpu_.layers == model::Layers::scan ? "scan" : "unrolled",
          " --set train.memory.remat_policy=",
          tpu_.save == compiler::RematPolicy::products ? "products" : "all");
  TempDir dir_;
};

TEST_F(DeviceForm, EveryRecipeCommandRunsInTheTpuFormOnAMesh) {
  ASSERT_EQ(tpu_.layers, model::Layers::scan);
  ASSERT_EQ(tpu_.save, compiler::RematPolicy::products);
  EXPECT_THAT(on_mesh("run"), HasSubstr("step 4: the [MASK] house : "));
  EXPECT_THAT(on_mesh("run", " --set train.steps=6"),
              AllOf(HasSubstr("resuming from "), HasSubstr("model/checkpoint-4")));
  const std::string steps = " --set train.steps=6";
  EXPECT_THAT(io::list_folder(dir_.file("out/model/best")), testing::SizeIs(1));

  // A model can be evaluated with another mesh and other memory settings than it was trained with.
  const auto evaluations = lines_of_json(on_mesh("eval", steps + " --json"));
  const auto alone = lines_of_json(says("eval", kOneDevice, steps + " --json"));
  ASSERT_EQ(evaluations.size(), 1u);
  ASSERT_EQ(alone.size(), 1u);
  EXPECT_EQ(evaluations[0]["global_step"], 6);
  for (const auto& [name, value] : alone[0].items()) {
    if (!value.is_number_float()) continue;
    const double want = value;
    EXPECT_NEAR(evaluations[0][name].get<double>(), want, kOtherForm * std::abs(want)) << name;
  }
  io::remove_file(dir_.file("out/model/evaluations.jsonl"));
  std::vector<std::int64_t> followed;
  for (const Json& one : lines_of_json(on_mesh("eval", steps + " --follow --json")))
    followed.push_back(one["global_step"]);
  EXPECT_THAT(followed, testing::ElementsAre(2, 4, 6));

  // Inference with only the model's folder, on one device, gives the same results as with the
  // recipe.
  const std::string recipe = str(" ", dir_.file("r.yaml"), " --set out=", dir_.file("out"),
                                 " --set text.input=", dir_.file("in.txt"), form_, steps);
  const std::string fill = " --text 'the [MASK] house'", detect = " --text 'the old house'";
  const std::string filled = answers("fill" + recipe + fill);
  const std::string found = answers("detect" + recipe + detect + " --threshold 0");
  EXPECT_THAT(filled, HasSubstr("the [MASK] house\n    "));
  EXPECT_THAT(found, HasSubstr("[old]"));
  answers(str("export", recipe, " --out ", dir_.file("hf")));
  answers(str("convert ", dir_.file("out/model"), " ", dir_.file("tf/model.ckpt-6")));
  for (const char* folder : {"out/model", "hf", "tf"}) {
    EXPECT_EQ(
        answers(str("fill ", dir_.file(folder), fill, " --vocab ", dir_.file("out/vocab.txt"))),
        filled)
        << folder;
    EXPECT_EQ(answers(str("detect ", dir_.file(folder), detect, " --threshold 0 --vocab ",
                          dir_.file("out/vocab.txt"))),
              found)
        << folder;
  }
}

}  // namespace
}  // namespace smelt::cli
