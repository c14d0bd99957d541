// The masked-LM loss of ModernBERT against transformers, both in f64 (tools/golden_modernbert.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "checkpoint/interop/stored_model.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "model/models/classifier.h"
#include "runs/golden_modernbert.h"
#include "runs/mesh_bert.h"
#include "runs/step_in_f64.h"
#include "support/paths.h"

namespace smelt::model {
namespace {

// The interpreter computes in f64, but the graph's constants, such as epsilons and frequencies, are
// f32 numbers. They are the reason of the remaining difference.
TEST(ModernbertInF64, EveryGradientMatchesTheReferenceToTheRoundingOfConstants) {
  const TempDir dir;
  const GoldenModernbert golden("words");
  const io::SafetensorsFile exact(
      io::read_file(source_path("tests/golden/modernbert_f64.safetensors")), "modernbert_f64");
  const checkpoint::StoredModel stored = golden.stored(dir.file("given"), "param");
  const auto gradients = [&](const std::string& part) {
    io::TensorMap tensors;
    for (const auto& [name, view] : exact.tensors())
      if (name.starts_with(part + "/")) tensors[name.substr(part.size() + 1)] = view;
    golden.write(dir.file(part), tensors, golden.config());
    return checkpoint::open_stored_model(dir.file(part), "test");
  };
  const checkpoint::StoredModel high = gradients("high"), low = gradients("low");
  const Task task = golden.task(parse_encoder("modernbert", stored.config, "golden"));
  TrainingConfig config = mesh_config(1);
  config.batch_size = 3;
  config.clip_norm = 0;
  const StepProgram step = train_program(task, config, placement_for("cpu", 1, Reduction::global));
  const auto results =
      step_in_f64(step, golden.batch(task.features), [&](const StateTensor& of, std::size_t) {
        const auto values = checkpoint::read_values<float>(stored.tensors.at(of.name));
        return testing::real_value(of.shape, {values.begin(), values.end()});
      });
  for (std::size_t i = 0; i < step.state.values; ++i) {
    const std::string& name = step.state.tensors[i].name;
    const auto gradient = checkpoint::read_values<float>(high.tensors.at(name));
    const auto rest = checkpoint::read_values<float>(low.tensors.at(name));
    const auto slot = std::ranges::find(step.state.tensors, name + "/adam_m", &StateTensor::name);
    ASSERT_NE(slot, step.state.tensors.end());
    const std::vector<double>& moment = results[slot - step.state.tensors.begin()].real;
    ASSERT_EQ(moment.size(), gradient.size()) << name;
    double difference = 0, size = 0;
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      const double want = static_cast<double>(gradient[k]) + rest[k];
      difference = std::max(difference, std::abs(10 * moment[k] - want));
      size = std::max(size, std::abs(want));
    }
    EXPECT_LE(difference, 1e-6 * size) << name;
  }
}

}  // namespace
}  // namespace smelt::model
