#include "recipe/evaluation.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "ask/follow.h"
#include "base/error.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/layout.h"
#include "recipe/objective_type.h"
#include "recipe/optimizer_choice.h"
#include "recipe/pipeline.h"
#include "state/resume.h"
#include "store/file.h"
#include "store/folder.h"
#include "store/folder_lock.h"
#include "store/path.h"
#include "track/event_log.h"
#include "track/metrics_file.h"

namespace smelt {
namespace {

EvaluateJob recipe_evaluation(const Recipe& r) {
  const RecipePaths paths(r);
  EvaluateJob job;
  job.task = r.type->task(r);
  job.batch_size = r.eval.batch_size;
  job.on = run_on(r.train);
  job.data = paths.heldout_records;
  job.vocab = made_vocabulary(paths);
  job.model_dir = paths.model_dir;
  job.steps = r.eval.steps;
  job.passes = r.eval.passes;
  job.averaged = r.eval.averaged;
  return job;
}

std::int64_t evaluated_step(const Record& record) {
  return record.value("global_step", std::int64_t{-1});
}

// By which a checkpoint is known from another of its step, which a run made that went back: the
// content of its marker. Empty where it is gone.
std::string mark_of(const std::string& model_dir, std::int64_t step) {
  const std::string marker = join_path(committed_path(model_dir, step), kCommitFile);
  return exists(marker) ? std::string(trim(read_file(marker, kSmallFileBytes))) : std::string();
}

std::vector<Record> told_evaluations(const std::string& model_dir) {
  const std::string path = join_path(model_dir, kEvaluationsFile);
  return exists(path) ? read_metrics(path) : std::vector<Record>();
}

// `mark`: of the checkpoint that was scored.
void write_evaluation(const Recipe& r, const Evaluation& e, const std::string& mark) {
  const RecipePaths paths(r);
  write_file(paths.evaluation, evaluation_text(e));
  Record told = evaluation_json(e);
  write_file(join_path(paths.model_dir, "eval_results.json"), told.dump(2) + "\n");
  told["checkpoint"] = mark;
  // A run and a follower may tell of two checkpoints at a time.
  const FileLock turn(join_path(paths.model_dir, str(kEvaluationsFile, ".lock")));
  auto all = told_evaluations(paths.model_dir);
  const std::int64_t newest = latest_checkpoint(paths.model_dir).value_or(e.global_step);
  std::erase_if(all, [&](const Record& other) {  // this step's, and those of a way that was left
    return evaluated_step(other) == e.global_step ||
           evaluated_step(other) > std::max(newest, e.global_step);
  });
  all.push_back(told);
  std::ranges::stable_sort(all, {}, evaluated_step);
  std::string lines;
  for (const Record& one : all) lines += one.dump() + "\n";
  write_file(join_path(paths.model_dir, kEvaluationsFile), lines);
}

class RecipeFollower {
 public:
  RecipeFollower(const Recipe& r, const std::function<void(const Evaluation&)>& told)
      : recipe_(r), model_dir_(RecipePaths(r).model_dir), tell_(told) {}

  void run() {
    const std::int64_t last = recipe_.train.steps;
    const FolderLock lock(events_folder(), "eval");  // another follower's lines would be lost
    for (const Record& told_before : told_evaluations(model_dir_))
      told_[evaluated_step(told_before)] = told_before.value("checkpoint", "");
    spdlog::info("eval: following {} to step {}", model_dir_, last);
    const auto newest = told_.empty() ? std::nullopt : std::optional(told_.rbegin()->first);
    follow_checkpoints({.model_dir = model_dir_,
                        .last_step = last,
                        .newest = newest,
                        .seconds = is_remote(model_dir_) ? 15.0 : 1.0,  // what costs nothing
                        .next = [&](const auto& steps, bool) { return next(steps); },
                        .evaluate = [&](const std::string& path) { evaluate(path); },
                        .done = [&](std::int64_t step, const auto&) { told_[step] = mark_; }});
  }

 private:
  std::string events_folder() const { return join_path(model_dir_, "eval"); }

  std::optional<std::int64_t> next(const std::vector<std::int64_t>& steps) {
    for (const std::int64_t step : steps) {
      const auto told = told_.find(step);
      mark_ = mark_of(model_dir_, step);
      // What an earlier version told of has no mark, what is gone no other.
      if (told == told_.end() || (!told->second.empty() && !mark_.empty() && told->second != mark_))
        return step;
    }
    return std::nullopt;
  }

  void evaluate(const std::string& path) {
    if (!evaluator_) start();
    const Evaluation e = (*evaluator_)(
        load_trained_model("eval", path, job_.task.settings.value("model", nlohmann::json()),
                           job_.vocab, job_.averaged));
    write_evaluation(recipe_, e, mark_);
    tell_tensorboard(e);
    tell_(e);
  }

  // Once there is a checkpoint, vocabulary and data are there.
  void start() {
    job_ = recipe_evaluation(recipe_);
    evaluator_.emplace(job_);
    evaluator_->scorer().announce();
  }

  void tell_tensorboard(const Evaluation& e) {
    std::vector<Scalar> scalars;
    for (const MeasuredValue& m : e.measures)
      scalars.push_back({"eval/" + m.name, static_cast<float>(m.value)});
    if (!events_) events_.emplace(events_folder(), e.global_step);
    events_->add(e.global_step, scalars);
  }

  const Recipe& recipe_;
  std::string model_dir_;
  const std::function<void(const Evaluation&)>& tell_;
  std::map<std::int64_t, std::string> told_;  // steps and marks
  std::string mark_;                          // of the checkpoint under way
  EvaluateJob job_;
  std::optional<Evaluator> evaluator_;
  std::optional<EventLog> events_;
};

}  // namespace

nlohmann::ordered_json evaluation_json(const Evaluation& e) {
  nlohmann::ordered_json out{
      {"global_step", e.global_step}, {"examples", e.examples}, {"loss", e.loss}};
  for (const MeasuredValue& m : e.measures) out[m.name] = m.value;
  for (const MeasuredValue& m : e.measures) out["weights"][m.name] = m.weight;
  return out;
}

std::string evaluation_text(const Evaluation& e) {
  std::ostringstream out;
  out << "global_step = " << e.global_step << "\nloss = " << e.loss << "\n";
  auto measures = e.measures;
  std::ranges::sort(measures, {}, &MeasuredValue::name);
  for (const MeasuredValue& m : measures) out << m.name << " = " << m.value << "\n";
  return out.str();
}

std::string evaluation_report(const Recipe& r, const Evaluation& e) {
  return str("***** Eval results *****\n", evaluation_text(e), r.type->remark(r, e), "\n");
}

Evaluation evaluate_model(const Recipe& r) {
  const Evaluation e = evaluate(recipe_evaluation(r));
  write_evaluation(r, e, mark_of(RecipePaths(r).model_dir, e.global_step));
  return e;
}

void follow_model(const Recipe& r, const std::function<void(const Evaluation&)>& told) {
  RecipeFollower(r, told).run();
}

}  // namespace smelt
