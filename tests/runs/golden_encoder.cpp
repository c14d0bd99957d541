#include "runs/golden_encoder.h"

#include <algorithm>

#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/stored_family.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/filesystem/path.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/masked_lm_task.h"
#include "model/tasks/token_features.h"
#include "support/paths.h"

namespace smelt {

GoldenEncoder::GoldenEncoder(const std::string& family, std::string kind, std::int64_t length,
                             std::int64_t vocab_size, std::string tokenizer)
    : family_(family),
      kind_(std::move(kind)),
      length_(length),
      vocab_size_(vocab_size),
      tokenizer_(std::move(tokenizer)),
      file_(io::read_file(source_path(str("tests/golden/", family, "_tiny.safetensors"))),
            family + "_tiny"),
      facts_(Json::parse(
          io::read_file(source_path(str("tests/golden/", family, "_tiny.json"))))[kind_]) {}

std::vector<float> GoldenEncoder::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(str(kind_, "/", name)));
}

io::TensorMap GoldenEncoder::tensors(const std::string& what) const {
  const std::string prefix = str(kind_, "/", what, "/");
  io::TensorMap out;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

void GoldenEncoder::write(const std::string& folder, const io::TensorMap& tensors,
                          const Json& config) const {
  io::write_file(folder + "/config.json", config.dump());
  io::write_file(folder + "/tokenizer.json", tokenizer_);
  io::write_file(folder + "/model.safetensors", io::safetensors_bytes(tensors));
}

checkpoint::StoredModel GoldenEncoder::stored(const std::string& folder,
                                              const std::string& what) const {
  write(folder, tensors(what), config());
  return checkpoint::open_stored_model(folder, "test");
}

io::Labels GoldenEncoder::labels() const {
  const io::Problem problem = kind_ == "texts"    ? io::Problem::single_label
                              : kind_ == "tokens" ? io::Problem::token_labels
                                                  : io::Problem::answer_spans;
  if (problem == io::Problem::answer_spans) return {.problem = problem, .names = {}};
  return {.problem = problem, .names = {"a", "b", "c"}};
}

model::Task GoldenEncoder::task(const model::Encoder& encoder) const {
  if (is_classifier())
    return model::classify_task(
        {.encoder = encoder, .seq_length = length_, .labels = labels(), .dropout = 0});
  const model::MaskedLmTask settings{.encoder = encoder, .seq_length = length_};
  model::Task task = model::masked_lm_task(settings);
  task.features.push_back(model::masked_positions_feature(length_, 2));
  task.features.push_back({.name = "masked_lm_ids", .row = {2}, .limit = vocab_size_});
  task.features.push_back({.name = "masked_lm_weights", .dtype = compiler::DType::f32, .row = {2}});
  task.draws = false;
  task.objective = [settings](const model::Scope& root, const model::Inputs& in) {
    return model::masked_lm_objective(root, settings, model::encoder_inputs(in),
                                      {.positions = in["masked_lm_positions"],
                                       .ids = in["masked_lm_ids"],
                                       .weights = in["masked_lm_weights"]});
  };
  return task;
}

data::Batch GoldenEncoder::batch(const io::Features& features) const {
  data::Batch out;
  out.rows = 3;
  for (const io::Feature& feature : features) {
    if (feature.name == "is_real_example") {
      data::HostArray real{{compiler::DType::s32, {3}}, std::vector<std::byte>(12)};
      std::ranges::fill(real.values<std::int32_t>(), 1);
      out.arrays.push_back(std::move(real));
      continue;
    }
    const io::TensorView& view = file_.at(str(kind_, "/", feature.name));
    out.arrays.push_back({view.shape, {view.data.begin(), view.data.end()}});
  }
  return out;
}

io::TensorMap GoldenEncoder::inputs() const {
  io::TensorMap out;
  for (const char* name : {"input_ids", "input_mask", "segment_ids"})
    out[name] = file_.at(str(kind_, "/", name));
  return out;
}

void GoldenEncoder::export_folder(const std::string& run, const std::string& to) const {
  const checkpoint::StoredModel model =
      stored(io::join_path(io::parent_path(run), "given"), "param");
  const std::string vocabulary = run + "/tokenizer.json";
  io::write_file(vocabulary, tokenizer_);
  Json settings{{"task", family_}, {"model", model.config}};
  if (is_classifier()) {
    settings.update(checkpoint::classifier_settings(family_, {.labels = labels(), .dropout = 0}));
    settings["task"] = "classify";
  }
  checkpoint::save_checkpoint(run, 5, checkpoint::load_into_memory(model.tensors).tensors,
                              settings);
  checkpoint::convert_checkpoint(
      {.from = run, .to = to, .form = checkpoint::ModelForm::hugging_face, .vocab = vocabulary});
}

}  // namespace smelt
