// The losses, gradients and embeddings of model.type embedding against sentence-transformers
// (tools/golden_embedding.py), also with micro-batches and on several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "io/formats/safetensors.h"
#include "model/tasks/embedding_task.h"
#include "runs/probe.h"
#include "support/error_of.h"
#include "support/paths.h"
#include "support/plugins.h"

namespace smelt::model {
namespace {

constexpr std::int64_t kRows = 6, kLength = 10, kTexts = 3;

// One of the cases of tests/golden/embedding_tiny.*.
class GoldenEmbedding {
 public:
  explicit GoldenEmbedding(std::string name)
      : name_(std::move(name)),
        file_(io::read_file(source_path("tests/golden/embedding_tiny.safetensors")), "golden"),
        facts_(Json::parse(io::read_file(source_path("tests/golden/embedding_tiny.json")))) {}

  double loss() const { return facts_[name_]["value"]; }
  EmbeddingTask settings(double dropout = 0) const {
    const Json& c = facts_[name_];
    Json bert = facts_["config"];
    bert["hidden_dropout_prob"] = dropout;
    bert["hidden_act"] = "gelu_erf";  // as transformers computes it
    return {.encoder = parse_encoder("bert", bert, "golden"),
            .form = {.pooling = io::field_choice<io::Pooling>("", c["pooling"]),
                     .normalize = c["normalize"],
                     .similarity = io::field_choice<io::Similarity>("", c["similarity"]),
                     .seq_length = kLength},
            .loss = io::field_choice<EmbeddingLoss>("", c["loss"]),
            .scale = c["scale"],
            .texts = c["texts"],
            .matryoshka = c.value("matryoshka", std::vector<std::int64_t>())};
  }
  io::TensorMap state() const {
    io::TensorMap out;
    for (const auto& [name, view] : file_.tensors())
      if (name.starts_with("param/")) out[name.substr(6)] = view;
    return out;
  }
  std::vector<float> values(const std::string& name) const {
    return io::tensor_values<float>(file_.at(name_ + "/" + name));
  }
  std::vector<std::int32_t> integers(const std::string& name) const {
    return io::tensor_values<std::int32_t>(file_.at(name));
  }
  // `keys` are the values of text_keys for the texts of all rows; by default all differ.
  data::Batch batch(const Task& task, std::vector<std::int32_t> keys = {}) const {
    const std::int64_t N = settings().texts;
    for (std::int32_t i = 0; keys.empty() || std::ssize(keys) < kRows * N; ++i)
      keys.push_back(i + 1);
    data::Batch out = data::empty_batch(task.features, kRows);
    for (std::size_t i = 0; i < task.features.size(); ++i) {
      const std::string& name = task.features[i].name;
      data::HostArray& array = out.arrays[i];
      if (name == "score") {
        const io::TensorView& view = file_.at("score");
        array.bytes.assign(view.data.begin(), view.data.end());
        continue;
      }
      const auto to = array.values<std::int32_t>();
      std::ranges::fill(to, 1);  // is_real_example, tokens
      if (name == "text_keys") std::ranges::copy(keys, to.begin());
      if (!name.starts_with("input_")) continue;
      const auto all = integers(name);
      for (std::int64_t row = 0; row < kRows; ++row)
        std::copy_n(all.begin() + row * kTexts * kLength, N * kLength,
                    to.begin() + row * N * kLength);
    }
    return out;
  }

 private:
  std::string name_;
  io::SafetensorsFile file_;
  Json facts_;
};

void expect_gradients(const StepGradients& got, const StateValues& want, double tolerance) {
  EXPECT_EQ(got.of.size(), want.size());
  for (const auto& [name, gradient] : got.of) {
    const auto [difference, size] = distance(gradient, want.at(name));
    EXPECT_LE(difference, tolerance * size + 2e-6) << name;
  }
}

class EmbeddingGolden : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Cases, EmbeddingGolden,
                         testing::Values("pairs", "negatives", "matryoshka", "cosent", "cosine"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(EmbeddingGolden, LossAndEveryGradientMatchSentenceTransformers) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenEmbedding golden(GetParam());
  const Task task = embedding_task(golden.settings());
  TrainingConfig config;
  config.batch_size = kRows;
  const auto got = step_gradients(client, task, config, golden.batch(task), golden.state());
  EXPECT_NEAR(got.loss, golden.loss(), 1e-5 * golden.loss());
  StateValues want;
  for (const auto& [name, view] : golden.state()) want[name] = golden.values("grad/" + name);
  expect_gradients(got, want, 1e-5);
}

TEST_P(EmbeddingGolden, EmbeddingsMatchSentenceTransformers) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenEmbedding golden(GetParam());
  const EmbeddingTask c = golden.settings();
  const Prediction prediction = text_embeddings(c.encoder, c.form, kLength);
  data::Batch batch = data::empty_batch(prediction.features, kRows);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto all = golden.integers(i == 0 ? "input_ids" : "input_mask");
    for (std::int64_t row = 0; row < kRows; ++row)
      std::copy_n(all.begin() + row * kTexts * kLength, kLength,
                  batch.arrays[i].values<std::int32_t>().begin() + row * kLength);
  }
  const auto got = probe(client, prediction, batch, golden.state()).results.at(0);
  const auto want = golden.values("embeddings");
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5) << i;
}

// The loss of a batch must not depend on how its rows are computed: as micro-batches, by replicas
// that gather the candidates, or by a mesh. Dropout must draw the same numbers in each.
TEST_P(EmbeddingGolden, MicroBatchesAndDevicesChangeNothing) {
  SMELT_OPEN_CPU(client, 2);
  const GoldenEmbedding golden(GetParam());
  const Task task = embedding_task(golden.settings(0.1));
  const data::Batch batch = golden.batch(task);
  const auto gradients = [&](std::int64_t micro_batches, const ShardingPlan& placement) {
    TrainingConfig config;
    config.batch_size = kRows;
    config.micro_batches = micro_batches;
    return step_gradients(client, task, config, batch, golden.state(), placement);
  };
  const ShardingPlan one = placement_for("cpu", 1, Reduction::global);
  const ShardingPlan replicas = placement_for("cpu", 2, Reduction::global);
  ShardingPlan mesh = replicas;
  mesh.spread = Parallelism::mesh;
  mesh.partition.mesh = {{"data", 2}};
  const StepGradients want = gradients(1, one);
  const std::vector<std::pair<std::int64_t, ShardingPlan>> others{
      {3, one}, {1, replicas}, {3, replicas}, {3, mesh}};
  for (const auto& [micro_batches, placement] : others) {
    SCOPED_TRACE(str(micro_batches, " micro-batches on ", placement.devices, " devices"));
    const StepGradients got = gradients(micro_batches, placement);
    EXPECT_NEAR(got.loss, want.loss, 1e-5 * want.loss);
    expect_gradients(got, want.of, 1e-5);
  }
}

// Rows 0 and 1 have equal positives, rows 2 and 3 equal anchors. Their losses must not depend on
// the masked candidates.
TEST(EmbeddingTask, IgnoresCandidatesThatEqualThePositiveAndPositivesOfTheSameAnchor) {
  SMELT_OPEN_CPU(client, 1);
  const GoldenEmbedding golden("pairs");
  EmbeddingTask c = golden.settings();
  TrainingConfig config;
  config.batch_size = kRows;
  const std::vector<std::int32_t> keys{1, 2, 3, 2, 4, 5, 4, 6, 7, 8, 9, 10};
  const auto loss_with = [&](bool masks) {
    c.mask_duplicates = masks;
    const Task task = embedding_task(c);
    return step_gradients(client, task, config, golden.batch(task, keys), golden.state()).loss;
  };
  // Reference in f64 from the embeddings of all texts.
  const Prediction prediction = text_embeddings(c.encoder, c.form, kLength);
  data::Batch batch = data::empty_batch(prediction.features, 2 * kRows);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto all = golden.integers(i == 0 ? "input_ids" : "input_mask");
    for (std::int64_t row = 0; row < kRows; ++row)
      std::copy_n(all.begin() + row * kTexts * kLength, 2 * kLength,
                  batch.arrays[i].values<std::int32_t>().begin() + row * 2 * kLength);
  }
  const auto all = probe(client, prediction, batch, golden.state()).results.at(0);
  const std::size_t H = all.size() / (2 * kRows);
  const auto cosine = [&](std::size_t a, std::size_t b) {
    double ab = 0, aa = 0, bb = 0;
    for (std::size_t i = 0; i < H; ++i) {
      const double x = all[a * H + i], y = all[b * H + i];
      ab += x * y, aa += x * x, bb += y * y;
    }
    return ab / std::sqrt(aa * bb);
  };
  double masked = 0, plain = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    double sum = 0, sum_masked = 0;
    for (std::size_t j = 0; j < kRows; ++j) {
      const double term = std::exp(20 * cosine(2 * i, 2 * j + 1));
      sum += term;
      const bool same = keys[2 * i + 1] == keys[2 * j + 1] || keys[2 * i] == keys[2 * j];
      if (i == j || !same) sum_masked += term;
    }
    plain += (std::log(sum) - 20 * cosine(2 * i, 2 * i + 1)) / kRows;
    masked += (std::log(sum_masked) - 20 * cosine(2 * i, 2 * i + 1)) / kRows;
  }
  EXPECT_NEAR(loss_with(false), plain, 1e-5);
  EXPECT_NEAR(loss_with(true), masked, 1e-5);
  EXPECT_LT(masked, plain - 0.01);
}

TEST(EmbeddingTask, RejectsADimensionAboveTheEmbeddings) {
  EmbeddingTask c = GoldenEmbedding("pairs").settings();
  c.matryoshka = {8, 17};
  EXPECT_EQ(error_of<UsageError>([&] { embedding_task(c); }),
            "matryoshka: dimension 17 must be between 1 and 16, the size of the model's "
            "embeddings\n  hint: remove it");
}

}  // namespace
}  // namespace smelt::model
