// The loss of model.problem rerank and its gradients against BinaryCrossEntropyLoss of
// sentence-transformers (tools/golden_cross_encoder.py), on several devices and with scanned
// layers.
#include <gtest/gtest.h>

#include "io/filesystem/file.h"
#include "io/formats/safetensors.h"
#include "model/tasks/classify_task.h"
#include "runs/probe.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {
namespace {

constexpr std::int64_t kGoldenPairs = 5, kPairLength = 14;

class GoldenReranker {
 public:
  GoldenReranker()
      : file_(io::read_file(folder() + "gradients.safetensors"), "golden"),
        config_(Json::parse(io::read_file(folder() + "config.json"))) {}

  static std::string folder() { return source_path("tests/golden/cross_encoder/v6/"); }
  static double loss() { return Json::parse(io::read_file(folder() + "scores.json"))["loss"]; }
  Task task() const {
    Json bert{{"hidden_act", "gelu_erf"}};  // as transformers computes it
    for (const char* field :
         {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
          "intermediate_size", "max_position_embeddings", "type_vocab_size", "hidden_dropout_prob",
          "attention_probs_dropout_prob"})
      bert[field] = config_[field];
    return classify_task({.encoder = parse_encoder("bert", bert, "golden"),
                          .seq_length = kPairLength,
                          .labels = {.problem = io::Problem::rerank},
                          .dropout = 0});
  }
  io::TensorMap state() const {
    io::TensorMap out;
    for (const auto& [name, view] : file_.tensors())
      if (name.starts_with("param/")) out[name.substr(6)] = view;
    return out;
  }
  std::vector<float> gradient(const std::string& name) const {
    return io::tensor_values<float>(file_.at("grad/" + name));
  }
  // Returns the pairs, and one padding example if `rows` is 6.
  data::Batch batch(const Task& task, std::int64_t rows) const {
    data::Batch out = data::empty_batch(task.features, rows);
    for (std::size_t i = 0; i < task.features.size(); ++i) {
      if (task.features[i].name == "is_real_example") {
        std::ranges::fill(out.arrays[i].values<std::int32_t>().first(kGoldenPairs), 1);
        continue;
      }
      const io::TensorView& view = file_.at(task.features[i].name);
      std::ranges::copy(view.data, out.arrays[i].bytes.begin());
    }
    return out;
  }

 private:
  io::SafetensorsFile file_;
  Json config_;
};

void expect_golden(const StepGradients& got, const GoldenReranker& golden) {
  EXPECT_NEAR(got.loss, GoldenReranker::loss(), 1e-6);
  EXPECT_EQ(got.of.size(), golden.state().size());
  for (const auto& [name, gradient] : got.of) {
    const auto [difference, size] = distance(gradient, golden.gradient(name));
    EXPECT_LE(difference, 1e-5 * size + 1e-6) << name;
  }
}

TEST(RerankGolden, LossAndEveryGradientMatchSentenceTransformers) {
  SMELT_OPEN_CPU(client, 2);
  const GoldenReranker golden;
  const Task task = golden.task();
  TrainingConfig config;
  config.batch_size = kGoldenPairs;
  expect_golden(
      step_gradients(client, task, config, golden.batch(task, kGoldenPairs), golden.state()),
      golden);
  // A padding example on two devices, and the layers as a loop.
  config.batch_size = kGoldenPairs + 1;
  config.compute.layers = Layers::scan;
  expect_golden(step_gradients(client, task, config, golden.batch(task, kGoldenPairs + 1),
                               golden.state(), placement_for("cpu", 2, Reduction::global)),
                golden);
}

}  // namespace
}  // namespace smelt::model
