#include "runs/golden_electra.h"

#include <algorithm>

#include "base/error.h"
#include "compiler/ops/ops.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "model/nn/layers.h"
#include "model/optim/adamw.h"
#include "runs/golden_bert.h"
#include "support/paths.h"

namespace smelt {
namespace {

Json all_facts() {
  return Json::parse(io::read_file(source_path("tests/golden/electra_tiny.json")));
}

model::ElectraConfig model_of(const Json& h) {
  const Json& o = h["model_hparam_overrides"];
  return {.vocab_size = h["vocab_size"],
          .embedding_size = h["embedding_size"],
          .hidden_size = o["hidden_size"],
          .num_hidden_layers = o["num_hidden_layers"],
          .num_attention_heads = o["num_attention_heads"],
          .intermediate_size = o["intermediate_size"],
          .hidden_dropout_prob = o["hidden_dropout_prob"],
          .attention_probs_dropout_prob = o["attention_probs_dropout_prob"],
          .max_position_embeddings = o["max_position_embeddings"],
          .generator_layers = h.value("generator_layers", 1.0),
          .generator_hidden_size = h["generator_hidden_size"],
          .untied_generator = h.value("untied_generator", true),
          .untied_generator_embeddings = h.value("untied_generator_embeddings", false)};
}

// Samples like the original's sample_from_softmax, but with the given noise.
compiler::Tensor sample(compiler::Tensor logits, compiler::Tensor noise) {
  return compiler::argmax(
      model::softmax(logits - compiler::log(1e-9 - compiler::log(noise + 1e-9))), -1);
}

model::Objective objective(const model::ElectraTask& c, const model::Scope& root,
                           const model::Inputs& in, bool noise) {
  const model::EncoderInputs tokens{.input_ids = in["input_ids"],
                                    .input_mask = in["input_mask"],
                                    .segment_ids = in["segment_ids"]};
  return model::electra_objective(root, c,
                                  {.inputs = tokens,
                                   .masked_ids = in["masked_ids"],
                                   .masks = {.positions = in["masked_lm_positions"],
                                             .ids = in["masked_lm_ids"],
                                             .weights = in["masked_lm_weights"]}},
                                  [&](compiler::Tensor logits) {
                                    return noise ? sample(logits, in["noise"]) : in["sampled_ids"];
                                  });
}

}  // namespace

GoldenElectra::GoldenElectra(std::string name)
    : name_(std::move(name)),
      file_(io::read_file(source_path("tests/golden/electra_tiny.safetensors")),
            "electra_tiny.safetensors"),
      facts_(all_facts()),
      zeros_(1 << 20) {}

std::vector<std::string> GoldenElectra::cases() {
  std::vector<std::string> names;
  const Json all = all_facts();
  for (const auto& [name, facts] : all["cases"].items()) names.push_back(name);
  return names;
}

model::ElectraTask GoldenElectra::settings() const {
  const Json &h = facts()["hparams"], &ids = facts_["special_ids"];
  model::ElectraTask c{.model = model_of(h),
                       .settings = io::parse_config<model::ElectraSettings>(h, "electra_tiny.json"),
                       .seq_length = h["max_seq_length"]};
  c.ids = {.cls = ids["cls"], .sep = ids["sep"], .mask = ids["mask"]};
  c.settings.masks = model::MaskDraws::original;
  return c;
}

model::Task GoldenElectra::task() const {
  const model::ElectraTask c = settings();
  const std::int64_t S = c.seq_length, N = c.masking().most, V = c.model.vocab_size;
  model::Task task = model::electra_task(c);
  task.draws = false;
  for (const io::Feature& f : io::Features{
           {.name = "masked_ids", .row = {S}, .limit = V},
           {.name = "masked_lm_positions", .row = {N}, .limit = S},
           {.name = "masked_lm_ids", .row = {N}, .limit = V},
           {.name = "masked_lm_weights", .dtype = compiler::DType::f32, .row = {N}},
           {.name = "sampled_ids", .row = {N}, .limit = V},
           {.name = "noise", .dtype = compiler::DType::f32, .row = {N, V}},
       })
    if (has("input/0/" + f.name)) task.features.push_back(f);
  task.objective = [c, noise = has("input/0/noise")](const model::Scope& root,
                                                     const model::Inputs& in) {
    return objective(c, root, in, noise);
  };
  return task;
}

model::TrainingConfig GoldenElectra::config() const {
  const auto& o = facts_["optimizer"];
  model::TrainingConfig c;
  c.batch_size = facts_["batch_size"];
  c.schedule = {.learning_rate = o["learning_rate"],
                .warmup_steps = o["warmup_steps"],
                .total_steps = o["steps"],
                .power = o["power"],
                .warmup = model::Warmup::multiplies};
  c.optimizer = model::adamw(
      {.weight_decay = o["weight_decay"], .bias_correction = model::BiasCorrection::off});
  return c;
}

bool GoldenElectra::has(const std::string& name) const {
  return file_.tensors().contains(name_ + "/" + name);
}

std::vector<float> GoldenElectra::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(name_ + "/" + name));
}

std::vector<std::int32_t> GoldenElectra::whole_values(const std::string& name) const {
  return io::tensor_values<std::int32_t>(file_.at(name_ + "/" + name));
}

io::TensorMap GoldenElectra::state() const {
  const std::string prefix = name_ + "/param/";
  io::TensorMap state;
  for (const auto& [name, view] : file_.tensors()) {
    if (!name.starts_with(prefix)) continue;
    const std::string parameter = name.substr(prefix.size());
    state[parameter] = view;
    for (const char* slot : {"/adam_m", "/adam_v"})
      state[parameter + slot] = {view.shape, std::span(zeros_).first(view.data.size())};
  }
  return state;
}

std::int64_t GoldenElectra::batches() const {
  std::int64_t count = 0;
  while (has(str("input/", count, "/input_ids"))) ++count;
  return count;
}

data::Batch GoldenElectra::batch(std::int64_t index) const { return batch(index, task().features); }

data::Batch GoldenElectra::training_batch(std::int64_t index) const {
  const io::Features features = task().features;
  data::Batch out = batch(index, features);
  const auto at = std::ranges::find(features, "sampled_ids", &io::Feature::name) - features.begin();
  const io::TensorView& view = file_.at(str(name_, "/input/", index, "/sampled_in_training"));
  std::ranges::copy(view.data, out.arrays[static_cast<std::size_t>(at)].bytes.begin());
  return out;
}

data::Batch GoldenElectra::tokens(std::int64_t index) const {
  const io::Features features = model::electra_task(settings()).features;
  return joined(batch(2 * index, features), batch(2 * index + 1, features));
}

data::Batch GoldenElectra::batch(std::int64_t index, const io::Features& features) const {
  data::Batch batch = data::empty_batch(features, facts_["batch_size"]);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const io::TensorView& view = file_.at(str(name_, "/input/", index, "/", features[i].name));
    CHECK(view.data.size() == batch.arrays[i].bytes.size(), features[i].name);
    std::ranges::copy(view.data, batch.arrays[i].bytes.begin());
  }
  return batch;
}

}  // namespace smelt
