#include "train/golden_bert.h"

#include "models/bert_config.h"
#include "store/file.h"
#include "support/paths.h"

namespace smelt {
namespace {

constexpr std::string_view kParam = "param/";

template <class T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

GoldenBert::GoldenBert()
    : file_(read_file(source_path("tests/golden/bert_tiny.safetensors")), "bert_tiny.safetensors"),
      facts_(nlohmann::json::parse(read_file(source_path("tests/golden/bert_tiny.json")))),
      zeros_(1 << 20) {}

PretrainingConfig GoldenBert::config() const {
  PretrainingConfig c;
  c.model = parse_bert_config(facts_["config"].dump(), "bert_tiny.json");
  c.batch = {.batch_size = facts_["batch_size"],
             .seq_length = facts_["max_seq_length"],
             .max_predictions = facts_["max_predictions_per_seq"]};
  const auto& o = facts_["optimizer"];
  c.schedule = {.learning_rate = o["init_lr"],
                .warmup_steps = o["warmup_steps"],
                .total_steps = o["steps"],
                .power = 1.0};
  c.optimizer = {.beta1 = o["beta_1"],
                 .beta2 = o["beta_2"],
                 .epsilon = o["epsilon"],
                 .weight_decay = o["weight_decay"],
                 .bias_correction = BiasCorrection::off};
  c.clip_norm = o["clip_norm"];
  return c;
}

std::vector<float> GoldenBert::values(const std::string& name) const {
  return tensor_values<float>(file_.at(name));
}

TensorMap GoldenBert::state() const {
  TensorMap state;
  for (const auto& [name, view] : file_.tensors()) {
    if (!name.starts_with(kParam)) continue;
    const std::string parameter = name.substr(kParam.size());
    state[parameter] = view;
    for (const char* slot : {"/adam_m", "/adam_v"})
      state[parameter + slot] = {view.shape, std::span(zeros_).first(view.data.size())};
  }
  return state;
}

BertBatch GoldenBert::batch(int index) const {
  const auto ints = [&](const char* feature) {
    return tensor_values<std::int32_t>(file_.at(str("input/", index, "/", feature)));
  };
  BertBatch b;
  b.batch = facts_["batch_size"];
  b.seq_length = facts_["max_seq_length"];
  b.max_predictions = facts_["max_predictions_per_seq"];
  b.input_ids = ints("input_ids");
  b.input_mask = ints("input_mask");
  b.segment_ids = ints("segment_ids");
  b.masked_lm_positions = ints("masked_lm_positions");
  b.masked_lm_ids = ints("masked_lm_ids");
  b.masked_lm_weights = values(str("input/", index, "/masked_lm_weights"));
  b.next_sentence_labels = ints("next_sentence_labels");
  return b;
}

BertBatch GoldenBert::double_batch(int index) const {
  BertBatch b = batch(2 * index);
  const BertBatch more = batch(2 * index + 1);
  b.batch += more.batch;
  append(b.input_ids, more.input_ids);
  append(b.input_mask, more.input_mask);
  append(b.segment_ids, more.segment_ids);
  append(b.masked_lm_positions, more.masked_lm_positions);
  append(b.masked_lm_ids, more.masked_lm_ids);
  append(b.masked_lm_weights, more.masked_lm_weights);
  append(b.next_sentence_labels, more.next_sentence_labels);
  return b;
}

}  // namespace smelt
