#include "cli/commands/cmd_distill.h"

#include <iostream>
#include <memory>

#include "base/error.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "cli/commands/cmd_run.h"
#include "cli/options/json_output.h"
#include "cli/options/recipe_option.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/distill_recipe.h"
#include "pipeline/objectives/load_recipe.h"
#include "pipeline/stages/run_history.h"
#include "pipeline/stages/run_result.h"

namespace smelt::cli {
namespace {

std::string run_of_teacher(const std::string& teacher) {
  const auto run = pipeline::run_named_by(teacher);
  if (run) return *run;
  throw UsageError(str("compress distill: ", teacher, " has no stored recipe with data and task"),
                   "name a run folder; to use another teacher, write a recipe with --set "
                   "distill.teacher=…");
}

pipeline::Recipe recipe_for(const DistillFlags& f) {
  return pipeline::distill_recipe(run_of_teacher(f.teacher), f.student, f.out, f.settings);
}

}  // namespace

void check_distill(const DistillFlags& f, bool may_go_on) {
  (void)pipeline::load_recipe(run_of_teacher(f.teacher), f.settings);
  if (io::exists(f.out) && may_go_on)
    if (const auto other = pipeline::changed_initial_weights(recipe_for(f)))
      throw UsageError(
          str("compress distill: ", f.out, " was started from another student: ", *other),
          "name another folder");
  if (io::exists(f.out) && !may_go_on)
    throw UsageError(str("compress distill: ", f.out, " exists already, but ", f.student,
                         " is not the result of this prune command"),
                     io::exists(f.student) ? str("name another folder; `smelt compress distill ",
                                                 quoted(f.teacher), " ", quoted(f.student),
                                                 " --out ", quoted(f.out), "` resumes a run there")
                                           : std::string("name another folder"));
}

void teach(const DistillFlags& f) {
  const pipeline::Recipe recipe = recipe_for(f);
  run_and_report(recipe);
}

void require_apart(const std::string& out, const char* flag, const std::string& run) {
  if (run.empty() || !(io::is_path_inside(run, out) || io::is_path_inside(out, run))) return;
  throw UsageError(
      str("compress: --out ", out, " and ", flag, " ", run, ": one folder is inside the other"),
      "choose separate folders");
}

void teach_itself(const std::string& model, const std::string& run,
                  const std::vector<std::string>& settings) {
  const DistillFlags flags{.teacher = model,
                           .student = checkpoint::exported_of(model),
                           .out = run,
                           .settings = settings};
  check_distill(flags, true);
  teach(flags);
}

OrderedJson distill(const DistillFlags& f) {
  teach(f);
  const pipeline::Recipe recipe = recipe_for(f);
  std::cout << "next:\n  smelt compress quantize " << quoted(recipe.out) << " --out FOLDER\n  "
            << pipeline::RecipePaths(recipe).hugging_face
            << "      # for Hugging Face transformers\n";
  return pipeline::run_result_json(recipe);
}

void add_distill(CLI::App& compress) {
  auto f = std::make_shared<DistillFlags>();
  auto* command = compress.add_subcommand(
      "distill",
      "train a small model to match a large one (distillation), with the large one's recipe");
  command->add_option("teacher", f->teacher, "run folder of the large model")->required();
  command
      ->add_option("student", f->student,
                   "initial weights of the small model: the output of `compress prune`, or any "
                   "small model of the same vocabulary")
      ->required();
  command->add_option("--out", f->out, "run folder to create; an existing run is resumed")
      ->required();
  add_set_option(*command, f->settings);
  add_json_flag(*command, f->json);
  command->callback([f] { print_events(f->json, [&] { return distill(*f); }); });
}

}  // namespace smelt::cli
