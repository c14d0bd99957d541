#include "pipeline/objectives/distill_recipe.h"

#include "base/error.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/objectives/load_recipe.h"

namespace smelt::pipeline {
namespace {

constexpr const char* kTeaching = "compress distill";

// Adds the sizes of the student's weights, if the recipe has fields for them.
void add_sizes(const Json& config, const Recipe& of_teacher, std::vector<std::string>& settings) {
  for (const auto& [field, value] : config.items())
    if (of_teacher.model.contains(field))
      settings.push_back(
          str("model.", field, "=", value.is_string() ? value.get<std::string>() : value.dump()));
}

}  // namespace

Recipe distill_recipe(const std::string& run, const std::string& student, const std::string& out,
                      const std::vector<std::string>& settings) {
  const Recipe of_teacher = load_recipe(run, {});
  std::vector<std::string> all{"out=" + out, "train.init_from=" + student,
                               "distill.teacher=" + run};
  if (of_teacher.model.contains("like")) all.emplace_back("model.like=");
  if (of_teacher.compress.is_on())  // no further compression
    for (const char* none : {"layers=0", "decoder_layers=0", "ffn=1", "heads=1", "macs=1",
                             "tune_epochs=0", "int8=false"})
      all.push_back(str("compress.", none));
  // The student is not pruned or quantized again during training.
  for (const char* none :
       {"pruning.sparsity=0", "pruning.nm=", "pruning.method=magnitude", "fake_quant=false"})
    all.push_back(str("train.", none));
  if (of_teacher.type->sizes_of_weights)
    add_sizes(of_teacher.type->sizes_of_weights(student, kTeaching), of_teacher, all);
  all.insert(all.end(), settings.begin(), settings.end());
  return load_recipe(run, all);
}

}  // namespace smelt::pipeline
