#include "execution/inference/scorer.h"

#include <algorithm>
#include <numbers>

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop_signal.h"
#include "base/watchdog.h"
#include "model/train_step/averages.h"

namespace smelt::execution {
namespace {

std::vector<std::size_t> row_weights_of(const model::Task& task, const HeldOut& held_out) {
  std::vector<std::size_t> out;
  if (held_out.as_original) return out;
  for (const std::string& name : task.row_weights)
    out.push_back(data::find_feature(task.features, name));
  return out;
}

std::int64_t count_batches(const HeldOut& held_out, const data::ExampleSource& source, bool pads,
                           const Fields& fields) {
  if (held_out.repeats && held_out.steps > 0 && source.size() > 0) return held_out.steps;
  auto all = static_cast<std::int64_t>(source.full_batches(held_out.batch_size));
  if (pads && source.size() % static_cast<std::uint64_t>(held_out.batch_size) != 0) ++all;
  if (all == 0)
    throw UsageError(str("eval: ", held_out.data, " holds ", counted(source.size(), "example"),
                         ", fewer than one batch of ", held_out.batch_size),
                     str("lower ", fields("eval.batch_size"), ", or give more examples"));
  return held_out.steps > 0 ? std::min(held_out.steps, all) : all;
}

model::StepProgram scoring_program(const model::Task& task, const model::ShardingPlan& placement,
                                   const model::ComputePolicy& compute, const HeldOut& held_out,
                                   bool together) {
  model::StepProgram out =
      model::eval_program(task, held_out.batch_size, placement, compute, held_out.passes, together);
  if (held_out.averages) model::take_averages(out.state);
  return out;
}

}  // namespace

model::MeasuredValue Evaluation::measure(std::string_view name) const {
  if (name == kLoss)
    return {.name = std::string(kLoss), .value = loss, .weight = static_cast<double>(examples)};
  const auto found = std::ranges::find(measures, name, &model::MeasuredValue::name);
  CHECK(found != measures.end(), name);
  return *found;
}

Scorer::Scorer(std::shared_ptr<const pjrt::Client> client, const model::Task& task,
               const model::ShardingPlan& placement, const model::ComputePolicy& compute,
               const HeldOut& held_out, const Fields& fields, bool together)
    : fields_(fields),
      held_out_(held_out),
      row_weights_(row_weights_of(task, held_out)),
      source_(data::open_examples({.input = held_out.data,
                                   .features = task.features,
                                   .kind = task.record_kind,
                                   .foreign = task.foreign,
                                   .windows = task.windows})),
      batches_(count_batches(held_out, *source_, pads(), fields)),
      program_(scoring_program(task, placement, compute, held_out, together)),
      compiled_(std::move(client), program_, advice("eval: a batch")) {}

MemoryAdvice Scorer::advice(const std::string& what) const {
  return {what, str("lower ", fields_("eval.batch_size"), "; more devices or ",
                    fields_("parallelism.mesh"), " fsdp=… also help")};
}

std::int64_t Scorer::rows_of(std::int64_t batch) const {
  const std::int64_t size = held_out_.batch_size;
  if (!pads() || held_out_.repeats) return size;
  return std::min(size, static_cast<std::int64_t>(source_->size()) - batch * size);
}

std::int64_t Scorer::examples() const {
  return (batches_ - 1) * held_out_.batch_size + rows_of(batches_ - 1);
}

data::Batch Scorer::batch(std::int64_t number) const {
  data::Batch out =
      source_->batch_in_order(static_cast<std::uint64_t>(number), held_out_.batch_size);
  const auto real = static_cast<std::size_t>(rows_of(number));
  for (const std::size_t feature : row_weights_) {
    const std::span bytes(out.arrays[feature].bytes);
    const std::size_t of_row = bytes.size() / static_cast<std::size_t>(held_out_.batch_size);
    std::ranges::fill(bytes.subspan(real * of_row), std::byte{0});
  }
  return out;
}

void Scorer::throw_stopped(std::int64_t batches_done) const {
  throw Stopped(str("eval: stopped by a signal after ", batches_done, " of ",
                    counted(batches_, "batch", "batches")),
                "run the same command again");
}

Evaluation Scorer::score(const ModelState& state, std::int64_t step,
                         smelt::Watchdog* watchdog) const {
  model::ReportSums sums(program_.report), one(program_.report);
  double loss = 0;
  Progress progress("eval", batches_, "batches");
  for (std::int64_t i = 0; i < batches_; ++i) {
    const bool is_to_stop = StopSignal::raised();
    if (is_to_stop && !program_.takes_wishes) throw_stopped(i);
    const data::Batch batch = this->batch(i);
    const auto number = program_.takes_step ? std::optional(i) : std::nullopt;
    const smelt::Watchdog::Watch watch(watchdog, str("the evaluation at step ", step));
    const pjrt::Execution execution = compiled_.run(batch, state, number, {.stop = is_to_stop});
    const auto report = fitting(advice("eval: a batch"),
                                [&] { return execution.results.front().front().to_host<float>(); });
    sums.add(report);
    one.clear();
    one.add(report);
    if (program_.takes_wishes && one.figure(model::kStopWishes) > 0) throw_stopped(i + 1);
    loss += one.figure("loss") * static_cast<double>(rows_of(i));
    progress.update(i + 1);
  }
  Evaluation out{
      .global_step = step,
      .examples = examples(),
      .loss = held_out_.as_original ? loss / static_cast<double>(examples()) : sums.loss(),
      .measures = sums.measures()};
  add_bits_per_character(source_->description(), out);
  return out;
}

void add_bits_per_character(const std::optional<data::DataDescription>& description,
                            Evaluation& out) {
  if (!description || !description->characters_per_token) return;
  const auto loss = std::ranges::find(out.measures, "masked_lm_loss", &model::MeasuredValue::name);
  if (loss == out.measures.end() || loss->weight == 0) return;
  out.measures.push_back(bits_per_character(*loss, *description->characters_per_token));
}

model::MeasuredValue bits_per_character(const model::MeasuredValue& loss,
                                        double characters_per_item) {
  return {.name = std::string(kBitsPerCharacter),
          .value = loss.value / std::numbers::ln2 / characters_per_item,
          .weight = loss.weight * characters_per_item};
}

void Scorer::announce() const {
  const auto all = static_cast<std::uint64_t>(examples());
  log_info("eval: {} {}, in {} of {}",
           all > source_->size() ? str(all, " drawn repeatedly from the") : str(all, " of the"),
           counted(source_->size(), "example"), counted(batches_, "batch", "batches"),
           held_out_.batch_size);
  const bool is_cut_short = held_out_.steps > 0 && batches_ == held_out_.steps;
  if (all < source_->size() && !is_cut_short)
    log_warning(
        "eval: the last {} not scored: {} fewer than {} {}",
        source_->size() - all == 1 ? "example is" : str(source_->size() - all, " examples are"),
        source_->size() - all == 1 ? "it is" : "they are", fields_("eval.batch_size"),
        held_out_.batch_size);
}

void Scorer::read() const {
  for (std::int64_t i = 0; i < batches_; ++i) (void)batch(i);
}

}  // namespace smelt::execution
