#include "ask/scorer.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "base/watchdog.h"
#include "base/words.h"
#include "step/averages.h"

namespace smelt {
namespace {

std::int64_t count_batches(const HeldOut& held_out, const ExampleSource& source,
                           const Fields& fields) {
  if (held_out.repeats && held_out.steps > 0 && source.size() > 0) return held_out.steps;
  const auto all = static_cast<std::int64_t>(source.whole_batches(held_out.batch_size));
  if (all == 0)
    throw UsageError(str("eval: ", held_out.data, " holds ", counted(source.size(), "example"),
                         ", fewer than one batch of ", held_out.batch_size),
                     str("lower ", fields("eval.batch_size"), ", or give more examples"));
  return held_out.steps > 0 ? std::min(held_out.steps, all) : all;
}

StepProgram scoring_program(const Task& task, const Placement& placement, const Compute& compute,
                            const HeldOut& held_out) {
  StepProgram out = eval_program(task, held_out.batch_size, placement, compute, held_out.passes);
  if (held_out.averages) take_averages(out.state);
  return out;
}

}  // namespace

const MeasuredValue& Evaluation::measure(std::string_view name) const {
  const auto found = std::ranges::find(measures, name, &MeasuredValue::name);
  CHECK(found != measures.end(), name);
  return *found;
}

Scorer::Scorer(std::shared_ptr<const Client> client, const Task& task, const Placement& placement,
               const Compute& compute, const HeldOut& held_out, const Fields& fields)
    : fields_(fields),
      held_out_(held_out),
      source_(open_examples({.input = held_out.data,
                             .features = task.features,
                             .kind = task.record_kind,
                             .foreign = task.foreign,
                             .windows = task.windows})),
      batches_(count_batches(held_out, *source_, fields)),
      program_(scoring_program(task, placement, compute, held_out)),
      compiled_(std::move(client), program_, advice("eval: a batch")) {}

MemoryAdvice Scorer::advice(const std::string& what) const {
  return {what, str("lower ", fields_("eval.batch_size"), "; more devices or ", fields_("mesh"),
                    " fsdp=… help, too")};
}

Evaluation Scorer::score(const ModelState& state, std::int64_t step, Watchdog* watchdog) const {
  ReportSums sums(program_.report);
  Progress progress("eval", batches_, "batches");
  for (std::int64_t i = 0; i < batches_; ++i) {
    if (StopSignal::raised())
      throw Stopped(
          str("eval: stopped by a signal after ", i, " of ", counted(batches_, "batch", "batches")),
          "run the same command again");
    const Batch batch =
        source_->batch_in_order(static_cast<std::uint64_t>(i), held_out_.batch_size);
    const auto number = program_.takes_step ? std::optional(i) : std::nullopt;
    const Watchdog::Watch watch(watchdog, str("the evaluation at step ", step));
    const Execution execution = compiled_.run(batch, state, number);
    sums.add(fitting(advice("eval: a batch"),
                     [&] { return execution.results.front().front().to_host<float>(); }));
    progress.update(i + 1);
  }
  return {.global_step = step,
          .examples = static_cast<std::int64_t>(sums.batches()) * held_out_.batch_size,
          .loss = sums.figure("loss"),
          .measures = sums.measures()};
}

void Scorer::announce() const {
  const auto examples = static_cast<std::uint64_t>(batches_ * held_out_.batch_size);
  spdlog::info(
      "eval: {} {}, in {} of {}",
      examples > source_->size() ? str(examples, " times one of the") : str(examples, " of the"),
      counted(source_->size(), "example"), counted(batches_, "batch", "batches"),
      held_out_.batch_size);
}

void Scorer::read() const {
  for (std::int64_t i = 0; i < batches_; ++i)
    (void)source_->batch_in_order(static_cast<std::uint64_t>(i), held_out_.batch_size);
}

}  // namespace smelt
