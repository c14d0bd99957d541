#include "train/evaluate.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "data/example_source.h"
#include "train/compiled_step.h"
#include "train/resume.h"

namespace smelt {
namespace {

std::int64_t count_batches(const EvaluateJob& job, const ExampleSource& source) {
  const auto all = static_cast<std::int64_t>(source.whole_batches(job.batch_size));
  if (all == 0)
    throw UsageError(str("eval: ", job.data, " holds ", source.size(),
                         " examples, fewer than one batch of ", job.batch_size),
                     str("lower ", job.fields("eval.batch_size"), ", or give more examples"));
  return job.steps > 0 ? std::min(job.steps, all) : all;
}

MemoryAdvice advice_for(const EvaluateJob& job, const std::string& what) {
  return {what, str("lower ", job.fields("eval.batch_size"), "; more devices or ",
                    job.fields("mesh"), " fsdp=… help, too")};
}

ReportSums add_up(const EvaluateJob& job, const StepProgram& program, const ExampleSource& source,
                  const CompiledStep& step, const ModelState& state, std::int64_t batches) {
  const MemoryAdvice advice = advice_for(job, "eval: a batch");
  ReportSums sums(program.report);
  Progress progress("eval", batches, "batches");
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = source.batch_in_order(static_cast<std::uint64_t>(i), job.batch_size);
    const auto number = program.takes_step ? std::optional(i) : std::nullopt;
    const Execution execution = step.run(batch, state, number);
    sums.add(fitting(advice, [&] { return execution.results.front().front().to_host<float>(); }));
    progress.update(i + 1);
  }
  return sums;
}

}  // namespace

const MeasuredValue& Evaluation::measure(std::string_view name) const {
  const auto found = std::ranges::find(measures, name, &MeasuredValue::name);
  CHECK(found != measures.end(), name);
  return *found;
}

Evaluation evaluate(const EvaluateJob& job) {
  const auto [checkpoint, where] = load_trained_model(
      "eval", job.model_dir, job.task.settings.value("model", nlohmann::json()), job.vocab);
  const auto source = open_examples({.input = job.data, .features = job.task.features});
  const std::int64_t batches = count_batches(job, *source);
  spdlog::info("eval: {} of the {} examples, in {} batches of {}", batches * job.batch_size,
               source->size(), batches, job.batch_size);
  const int devices = static_cast<int>(job.devices);
  const auto client = open_device(job.device, devices);
  const auto platform = client->platform_name();
  const StepProgram program =
      eval_program(job.task, job.batch_size,
                   placement_for(platform, job.devices, Reduction::global,
                                 partition_for(job.mesh, job.devices, job.fields)),
                   compute_for(platform, job.compute, job.fields), job.passes);
  const CompiledStep step(client, program, advice_for(job, "eval: a batch"));
  const ModelState state = fitting(advice_for(job, "eval: the model"), [&] {
    return ModelState::restore(*client, program.placement, program.state, checkpoint.tensors,
                               where);
  });
  const ReportSums sums = add_up(job, program, *source, step, state, batches);
  return {.global_step = checkpoint.step,
          .examples = batches * job.batch_size,
          .loss = sums.figure("loss"),
          .measures = sums.measures()};
}

}  // namespace smelt
