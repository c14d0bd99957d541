#include "runs/golden_bert.h"

#include <algorithm>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "model/models/bert_config.h"
#include "support/paths.h"

namespace smelt {
namespace {

constexpr std::string_view kParam = "param/";

}  // namespace

GoldenBert::GoldenBert()
    : file_(io::read_file(source_path("tests/golden/bert_tiny.safetensors")),
            "bert_tiny.safetensors"),
      facts_(Json::parse(io::read_file(source_path("tests/golden/bert_tiny.json")))),
      zeros_(1 << 20) {}

model::BertTask GoldenBert::task() const {
  return {.model = model::parse_bert_config(facts_["config"].dump(), "bert_tiny.json"),
          .seq_length = facts_["max_seq_length"],
          .max_predictions = facts_["max_predictions_per_seq"],
          .next_sentence = true,
          .majority_token = {}};
}

model::AdamW GoldenBert::optimizer() const {
  const auto& o = facts_["optimizer"];
  return {.beta1 = o["beta_1"],
          .beta2 = o["beta_2"],
          .epsilon = o["epsilon"],
          .weight_decay = o["weight_decay"],
          .bias_correction = model::BiasCorrection::off};
}

model::TrainingConfig GoldenBert::config() const {
  const auto& o = facts_["optimizer"];
  model::TrainingConfig c;
  c.batch_size = facts_["batch_size"];
  c.schedule = {.learning_rate = o["init_lr"],
                .warmup_steps = o["warmup_steps"],
                .total_steps = o["steps"],
                .power = 1.0};
  c.optimizer = model::adamw(optimizer());
  c.clip_norm = o["clip_norm"];
  return c;
}

std::vector<float> GoldenBert::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(name));
}

io::TensorMap GoldenBert::state() const {
  io::TensorMap state;
  for (const auto& [name, view] : file_.tensors()) {
    if (!name.starts_with(kParam)) continue;
    const std::string parameter = name.substr(kParam.size());
    state[parameter] = view;
    for (const char* slot : {"/adam_m", "/adam_v"})
      state[parameter + slot] = {view.shape, std::span(zeros_).first(view.data.size())};
  }
  return state;
}

data::Batch GoldenBert::batch(int index) const {
  const io::Features features = model::bert_task(task()).features;
  data::Batch batch = data::empty_batch(features, facts_["batch_size"]);
  for (std::size_t i = 0; i < features.size(); ++i) {
    const io::TensorView& view = file_.at(str("input/", index, "/", features[i].name));
    CHECK(view.data.size() == batch.arrays[i].bytes.size(), features[i].name);
    std::ranges::copy(view.data, batch.arrays[i].bytes.begin());
  }
  return batch;
}

data::Batch GoldenBert::double_batch(int index) const {
  return joined(batch(2 * index), batch(2 * index + 1));
}

data::Batch joined(data::Batch batch, const data::Batch& more) {
  batch.rows += more.rows;
  for (std::size_t i = 0; i < batch.arrays.size(); ++i) {
    data::HostArray& array = batch.arrays[i];
    array.shape.dims[0] += more.rows;
    array.bytes.insert(array.bytes.end(), more.arrays[i].bytes.begin(), more.arrays[i].bytes.end());
  }
  return batch;
}

}  // namespace smelt
