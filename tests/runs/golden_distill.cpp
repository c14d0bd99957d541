#include "runs/golden_distill.h"

#include "checkpoint/storage/lazy_files.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "model/tasks/bert_task.h"
#include "model/tasks/classify_task.h"
#include "model/tasks/t5_task.h"
#include "support/paths.h"

namespace smelt {
namespace {

constexpr std::int64_t kTokens = 12;

io::Labels labels_of(const std::string& problem) {
  io::Labels out{.problem = choose_of("problem", problem, io::kProblems), .names = {"a", "b", "c"}};
  if (!out.has_classes()) out.names.clear();
  return out;
}

// Adds the dropout rates, which the script's configurations do not contain.
Json dropping_out(Json config, double rate) {
  config["hidden_dropout_prob"] = config["attention_probs_dropout_prob"] = rate;
  return config;
}

model::ClassifyTask classifier(const Json& facts, const std::string& who, double dropout) {
  const std::string kind = facts["kinds"][who == "student" ? 0 : 1];
  return {.encoder = model::parse_encoder(kind.substr(0, kind.find('-')),
                                          dropping_out(facts[who], dropout), "distill_tiny.json"),
          .seq_length = kTokens,
          .labels = labels_of(facts["problem"]),
          .dropout = dropout};
}

model::BertConfig bert(const Json& config, double dropout) {
  return model::parse_bert_config(dropping_out(config, dropout).dump(), "distill_tiny.json");
}

model::T5Config t5(Json config, double dropout) {
  config["dropout_rate"] = dropout;
  return io::parse_config<model::T5Config>(config, "distill_tiny.json");
}

}  // namespace

GoldenDistill::GoldenDistill(std::string name)
    : name_(std::move(name)),
      file_(io::read_file(source_path("tests/golden/distill_tiny.safetensors")),
            "distill_tiny.safetensors"),
      facts_(Json::parse(io::read_file(source_path("tests/golden/distill_tiny.json")))[name_]) {}

model::Distillation GoldenDistill::settings() const {
  return io::parse_config<model::Distillation>(facts_["distill"], "distill_tiny.json");
}

model::Task GoldenDistill::student() const {
  if (name_ == "words")
    return model::bert_task(
        {.model = bert(facts_["student"], 0), .seq_length = kTokens, .max_predictions = 4});
  if (name_ == "answers")
    return model::t5_task({.model = t5(facts_["student"], 0),
                           .settings = {.z_loss = 0},
                           .inputs_length = 10,
                           .targets_length = 6});
  return model::classify_task(classifier(facts_, "student", 0));
}

model::Teacher GoldenDistill::teacher() const {
  model::FrozenModel model{.where = "teacher",
                           .values = std::make_shared<const io::LazyTensors>(
                               checkpoint::lazy_tensors(tensors("teacher"))),
                           .dim_names = {}};
  if (name_ == "words") return model::bert_teacher(bert(facts_["teacher"], 0.5), std::move(model));
  if (name_ == "answers") return model::t5_teacher(t5(facts_["teacher"], 0.5), std::move(model));
  return model::classify_teacher(classifier(facts_, "teacher", 0.5), std::move(model));
}

model::Task GoldenDistill::task() const {
  return model::distilled(student(), teacher(), settings());
}

data::Batch GoldenDistill::batch(const io::Features& features) const {
  data::Batch out;
  for (const io::Feature& feature : features) {
    const std::string name = str(name_, "/", feature.name);
    if (!file_.tensors().contains(name)) {  // is_real_example: 1 for all rows
      data::HostArray& real = out.arrays.emplace_back(
          data::HostArray{{compiler::DType::s32, {out.rows}},
                          std::vector<std::byte>(4 * static_cast<std::size_t>(out.rows))});
      std::ranges::fill(real.values<std::int32_t>(), 1);
      continue;
    }
    const io::TensorView& view = file_.at(name);
    out.rows = view.shape.dims[0];
    out.arrays.push_back({view.shape, {view.data.begin(), view.data.end()}});
  }
  return out;
}

io::TensorMap GoldenDistill::tensors(const std::string& of) const {
  const std::string prefix = str(name_, "/", of, "/");
  io::TensorMap out;
  for (const auto& [name, view] : file_.tensors())
    if (name.starts_with(prefix)) out[name.substr(prefix.size())] = view;
  return out;
}

}  // namespace smelt
