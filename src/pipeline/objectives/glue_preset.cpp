#include "pipeline/objectives/glue_preset.h"

#include <algorithm>

#include "base/number_format.h"
#include "base/str.h"
#include "data/preprocess/glue.h"

namespace smelt::pipeline {
namespace {

std::string glue_of(const Recipe& r) { return r.data.value("glue", std::string()); }

}  // namespace

FieldValues glue_preset(const FieldValues& set) {
  const auto value_of = [&](const std::string& field) {
    const auto found = set.find(field);
    return found == set.end() ? std::string() : found->second;
  };
  if (value_of("data.glue").empty()) return {};
  const data::GlueTask& task = data::glue_task(value_of("data.glue"), "data.glue");
  FieldValues out{{"data.format", "tsv"},
                  {"data.header", std::string(word_of(task.header, text::kHeaders))},
                  {"data.text", task.text},
                  {"data.pair", task.pair},
                  {"data.label", task.label},
                  {"data.labels", join(task.labels, ",")},
                  {"data.both_orders", task.both_orders ? "true" : "false"},
                  {"model.problem", std::string(word_of(task.problem, io::kProblems))}};
  if (set.contains("data.train") || !value_of("data.records").empty()) return out;
  const std::string folder = value_of("data.glue_folder");
  const data::GlueFiles files = data::glue_files(task, folder.empty() ? "glue_data" : folder);
  out["data.train"] = files.train;
  out["data.validation"] = files.dev;
  out["data.test"] = files.other;
  return out;
}

std::string glue_metric(const Recipe& r) {
  const std::string name = glue_of(r);
  return name.empty() ? "" : data::glue_task(name, "data.glue").metric;
}

std::string glue_remark(const Recipe& r, const execution::Evaluation& e) {
  const std::string name = glue_of(r);
  if (name.empty()) return {};
  const data::GlueTask& task = data::glue_task(name, "data.glue");
  std::vector<std::string> figures;
  for (const std::string& measure : task.measures)
    if (const auto found = std::ranges::find(e.measures, measure, &model::MeasuredValue::name);
        found != e.measures.end())
      figures.push_back(str(measure, " ", rounded(100 * found->value, 2)));
  return str("GLUE metrics of ", task.name(), ", times 100: ", join(figures, ", "));
}

}  // namespace smelt::pipeline
