#include "runs/golden_modernbert.h"

#include <algorithm>

#include "io/filesystem/file.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/masked_lm_task.h"
#include "model/tasks/token_features.h"
#include "support/paths.h"

namespace smelt {

GoldenModernbert::GoldenModernbert(std::string kind)
    : kind_(std::move(kind)),
      file_(io::read_file(source_path("tests/golden/modernbert_tiny.safetensors")),
            "modernbert_tiny"),
      facts_(Json::parse(io::read_file(source_path("tests/golden/modernbert_tiny.json")))[kind_]) {}

std::string GoldenModernbert::tokenizer_text() {
  Json vocab{{"[CLS]", 0}, {"[PAD]", 1}, {"[SEP]", 2}, {"[UNK]", 3}, {"\u0120", 4}, {"ab", 5}};
  for (int i = 0; i < 22; ++i) vocab[std::string(1, static_cast<char>('a' + i))] = 6 + i;
  vocab["[MASK]"] = 28;
  Json added = Json::array();
  for (const auto& [token, id] :
       {std::pair{"[CLS]", 0}, {"[PAD]", 1}, {"[SEP]", 2}, {"[UNK]", 3}, {"[MASK]", 28}})
    added.push_back({{"id", id},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", id == 28},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  const Json bytes{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}};
  const auto token = [](const char* id) {
    return Json{{"SpecialToken", {{"id", id}, {"type_id", 0}}}};
  };
  const Json text{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto special = [](const char* id, int number) {
    return Json{{"id", id}, {"ids", {number}}, {"tokens", {id}}};
  };
  const Json around{
      {"type", "TemplateProcessing"},
      {"single", Json::array({token("[CLS]"), text, token("[SEP]")})},
      {"pair", Json::array({token("[CLS]"), text, token("[SEP]"),
                            Json{{"Sequence", {{"id", "B"}, {"type_id", 0}}}}, token("[SEP]")})},
      {"special_tokens", {{"[CLS]", special("[CLS]", 0)}, {"[SEP]", special("[SEP]", 2)}}}};
  const Json model{{"type", "BPE"},
                   {"vocab", vocab},
                   {"merges", Json::array({"a b"})},
                   {"unk_token", nullptr},
                   {"dropout", nullptr},
                   {"continuing_subword_prefix", ""},
                   {"end_of_word_suffix", ""},
                   {"fuse_unk", false}};
  return Json{
      {"version", "1.0"},       {"added_tokens", added},    {"normalizer", {{"type", "NFC"}}},
      {"pre_tokenizer", bytes}, {"post_processor", around}, {"decoder", bytes},
      {"model", model}}
      .dump();
}

std::vector<float> GoldenModernbert::values(const std::string& name) const {
  return io::tensor_values<float>(file_.at(str(kind_, "/", name)));
}

io::TensorMap GoldenModernbert::tensors(const std::string& what) const {
  const std::string prefix = str(kind_, "/", what, "/");
  io::TensorMap out;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

void GoldenModernbert::write(const std::string& folder, const io::TensorMap& tensors,
                             const Json& config) const {
  io::write_file(folder + "/config.json", config.dump());
  io::write_file(folder + "/tokenizer.json", tokenizer_text());
  io::write_file(folder + "/model.safetensors", io::safetensors_bytes(tensors));
}

checkpoint::StoredModel GoldenModernbert::stored(const std::string& folder,
                                                 const std::string& what) const {
  write(folder, tensors(what), config());
  return checkpoint::open_stored_model(folder, "test");
}

io::Labels GoldenModernbert::labels() const {
  const io::Problem problem = kind_ == "texts"    ? io::Problem::single_label
                              : kind_ == "tokens" ? io::Problem::token_labels
                                                  : io::Problem::answer_spans;
  if (problem == io::Problem::answer_spans) return {.problem = problem, .names = {}};
  return {.problem = problem, .names = {"a", "b", "c"}};
}

model::Task GoldenModernbert::task(const model::Encoder& encoder) const {
  if (is_classifier())
    return model::classify_task(
        {.encoder = encoder, .seq_length = kLength, .labels = labels(), .dropout = 0});
  const model::MaskedLmTask settings{.encoder = encoder, .seq_length = kLength};
  model::Task task = model::masked_lm_task(settings);
  task.features.push_back(model::masked_positions_feature(kLength, 2));
  task.features.push_back({.name = "masked_lm_ids", .row = {2}, .limit = kVocab});
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

data::Batch GoldenModernbert::batch(const io::Features& features) const {
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

io::TensorMap GoldenModernbert::inputs() const {
  io::TensorMap out;
  for (const char* name : {"input_ids", "input_mask", "segment_ids"})
    out[name] = file_.at(str(kind_, "/", name));
  return out;
}

}  // namespace smelt
