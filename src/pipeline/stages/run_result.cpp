#include "pipeline/stages/run_result.h"

#include "checkpoint/storage/checkpoint.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/compression/compress_stage.h"
#include "pipeline/config/objective_type.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/stages/evaluation.h"

namespace smelt::pipeline {
namespace {

std::string evaluation_file(const RecipePaths& paths) {
  return paths.evaluation.substr(0, paths.evaluation.rfind('.')) + ".json";
}

OrderedJson metrics_of_run(const RecipePaths& paths) {
  const std::string file = evaluation_file(paths);
  return io::exists(file) ? OrderedJson::parse_or_discard(io::read_file(file)) : OrderedJson();
}

// Returns the paths of existing files and folders.
OrderedJson paths_json(const Recipe& recipe) {
  const RecipePaths paths(recipe);
  OrderedJson out = OrderedJson::object();
  const auto add = [&](const char* name, const std::string& path) {
    if (!path.empty() && io::exists(path)) out[name] = path;
  };
  add("model", paths.model_dir);
  if (const auto step = checkpoint::latest_checkpoint(paths.model_dir))
    out["checkpoint"] = checkpoint::committed_path(paths.model_dir, *step);
  add("best_checkpoint", io::join_path(paths.model_dir, "best"));
  add("hugging_face", paths.hugging_face);
  add("compressed", compress_folder(recipe));
  add("vocabulary", made_vocabulary(paths));
  add("evaluation", evaluation_file(paths));
  add("predictions", paths.predictions);
  return out;
}

}  // namespace

OrderedJson model_result_json(const Recipe& recipe) {
  const auto step = checkpoint::latest_checkpoint(RecipePaths(recipe).model_dir);
  return {{"out", recipe.out},
          {"step", step ? OrderedJson(*step) : OrderedJson()},
          {"paths", paths_json(recipe)}};
}

OrderedJson run_result_json(const Recipe& recipe) {
  const OrderedJson metrics = metrics_of_run(RecipePaths(recipe));
  OrderedJson out = model_result_json(recipe);
  out["metrics"] = metrics;
  out["verdict"] = out["better_than_baseline"] = nullptr;
  if (!metrics.is_object()) return out;
  const execution::Evaluation evaluation = evaluation_of_json(metrics);
  const auto better = is_clearly_better(recipe.type->baseline, evaluation);
  out["verdict"] = divergence_verdict(loss_course(RecipePaths(recipe).model_dir), evaluation,
                                      recipe.train.optimizer.learning_rate);
  if (out["verdict"] != "") {
    out["better_than_baseline"] = false;
    return out;
  }
  out["verdict"] = nullptr;
  if (!better) return out;
  out["verdict"] = verdict(recipe.type->baseline, evaluation);
  out["better_than_baseline"] = *better;
  return out;
}

}  // namespace smelt::pipeline
