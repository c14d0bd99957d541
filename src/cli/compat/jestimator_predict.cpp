#include "cli/compat/jestimator_predict.h"

#include <cmath>
#include <functional>
#include <iostream>
#include <sstream>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "data/input_pipeline/example_source.h"
#include "execution/train_state/compiled_step.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"

namespace smelt::cli {
namespace {

class Predictor {
 public:
  Predictor(const JestimatorFlags& f, const StartingPoint& start)
      : flags_(f),
        task_(jestimator_task_of(f)),
        scores_(model::jestimator_scores(task_, 20)),
        model_(load_jestimator("predict", start.path, f)),
        source_(data::open_examples({.input = f.pred_pattern, .features = scores_.features})),
        client_(pjrt::open_device(f.on.device, 1)),
        program_(model::predict_program(scores_, f.pred_batch_size, compute(*client_))),
        compiled_(client_, program_, advice()) {}

  void write_lines(const std::function<void(std::string_view)>& write) const {
    const std::int64_t examples = count(), batch = flags_.pred_batch_size;
    const execution::ModelState state = execution::ModelState::restore(
        *client_, program_.placement, program_.state, model_.checkpoint.tensors, model_.where);
    if (!flags_.dry_run) write("example\tnll\tmrr\n");
    Progress progress("predict", examples, "examples");
    for (std::int64_t first = 0; first < examples; first += batch) {
      const auto number = first / batch;
      const data::Batch read = source_->batch_in_order(static_cast<std::uint64_t>(number), batch);
      if (!flags_.dry_run) write(scores(read, state, first, std::min(batch, examples - first)));
      progress.update(std::min(first + batch, examples));
    }
  }

 private:
  static execution::MemoryAdvice advice() {
    return {"predict: a batch", "lower --pred_batch_size"};
  }

  model::ComputePolicy compute(const pjrt::Client& client) const {
    model::ComputeOptions choice = flags_.run.compute;
    if (choice.precision == model::Precision::bf16) choice.precision = model::Precision::f32;
    return model::compute_for(client.platform_name(), choice, flag);
  }

  std::int64_t count() const {
    const auto all = static_cast<std::int64_t>(source_->size());
    return flags_.num_pred_examples < 0 ? all : std::min(all, flags_.num_pred_examples);
  }

  // Rows after the last example repeat the first examples and are skipped.
  std::string scores(const data::Batch& batch, const execution::ModelState& state,
                     std::int64_t first, std::int64_t count) const {
    const pjrt::Execution execution = compiled_.run(batch, state, first / flags_.pred_batch_size);
    std::vector<std::vector<float>> sums;
    for (const pjrt::Buffer& buffer : execution.results.front())
      sums.push_back(execution::fitting(advice(), [&] { return buffer.to_host<float>(); }));
    std::ostringstream out;
    for (std::size_t row = 0; row < static_cast<std::size_t>(count); ++row) {
      const double masked = sums[2][row] > 0 ? sums[2][row] : NAN;  // 0: no token was masked
      out << first + static_cast<std::int64_t>(row) << '\t' << sums[0][row] / masked << '\t'
          << sums[1][row] / masked << '\n';
    }
    return out.str();
  }

  const JestimatorFlags& flags_;
  model::JestimatorBertTask task_;
  model::Prediction scores_;
  execution::TrainedModel model_;
  std::unique_ptr<const data::ExampleSource> source_;
  std::shared_ptr<const pjrt::Client> client_;
  model::StepProgram program_;
  execution::CompiledStep compiled_;
};

// Warns of training flags that have no effect in this mode.
void warn_of_unused(const JestimatorFlags& f) {
  if (f.run.devices.value_or(1) > 1 || f.num_partitions > 1 || !f.model_parallel_submesh.empty() ||
      f.run.compute.precision == model::Precision::bf16)
    log_warning(
        "predict runs on one device, in f32: --devices, --num_partitions, "
        "--model_parallel_submesh and --precision bf16 are not used");
}

}  // namespace

void predict_jestimator(const JestimatorFlags& f, const StartingPoint& start) {
  warn_of_unused(f);
  std::optional<io::OutputFile> file;  // opened first, so that errors appear before the work
  if (!f.dry_run && !f.output.empty()) file.emplace(f.output);
  Predictor(f, start).write_lines([&](std::string_view lines) {
    if (file)
      file->write(lines);
    else
      std::cout << lines << std::flush;
  });
  if (f.dry_run) log_info("dry run: the examples were read, nothing was computed");
  if (!file) return;
  file->commit();
  log_info("written: {}", f.output);
}

}  // namespace smelt::cli
