#include "train/memory_variant.h"

#include <tuple>

#include "base/log.h"
#include "base/str.h"
#include "train/job_program.h"

namespace smelt::train {

std::vector<MemoryVariant> memory_fallbacks(const TrainJob& job) {
  std::vector<MemoryVariant> out{kScanVariant,
                                 {.layers = model::Layers::scan,
                                  .save = compiler::RematPolicy::layer,
                                  .words = "loop, layer rematerialization"}};
  for (const int times : {2, 4, 8, 16}) {
    const std::int64_t parts = times * job.config.micro_batches;
    out.push_back({.layers = model::Layers::scan,
                   .save = compiler::RematPolicy::layer,
                   .micro_batches = parts,
                   .words = str("loop, layer rematerialization, ", parts, " micro-batches")});
  }
  return out;
}

TrainJob in_form(TrainJob job, const MemoryVariant& form) {
  if (!job.on.compute) job.on.compute = model::ComputeOptions();
  if (form.layers) job.on.compute->layers = form.layers;
  if (form.save) job.on.compute->save = form.save;
  if (form.micro_batches > 0) job.config.micro_batches = form.micro_batches;
  return job;
}

bool is_same_variant(const TrainJob& job, const MemoryVariant& a, const MemoryVariant& b,
                     const std::string& platform) {
  const auto key = [&](const MemoryVariant& form) {
    const TrainJob made = in_form(job, form);
    const model::ComputePolicy compute = compute_of(made, platform);
    return std::tuple(compute.layers, compute.save, made.config.micro_batches);
  };
  return key(a) == key(b);
}

std::vector<std::string> settings_of(const MemoryVariant& form, const Fields& fields) {
  std::vector<std::string> out;
  if (form.layers)
    out.push_back(
        str(fields("memory.layers"), *form.layers == model::Layers::scan ? "=scan" : "=unrolled"));
  if (form.save) out.push_back(str(fields("memory.remat_policy"), "=layer"));
  if (form.micro_batches > 0)
    out.push_back(str(fields("gradient_accumulation_steps"), "=", form.micro_batches));
  return out;
}

bool allows_memory_fallback(const TrainJob& job) {
  return job.on.compute && !job.on.compute->layers && !job.on.compute->save;
}

namespace {

// Returns whether a variant is valid and gives another program than the job's own variant. It is
// not valid if, for example, the batch size is not divisible by its number of micro-batches.
bool is_another(const MemoryVariant& form, const TrainJob& job) try {
  const std::string& platform = job.on.device;
  (void)training_program(in_form(job, form), platform);
  return !is_same_variant(job, MemoryVariant(), form, platform);
} catch (const UsageError&) {
  return false;
}

std::vector<MemoryVariant> forms_to_try(const TrainJob& job) {
  std::vector<MemoryVariant> out{MemoryVariant()};
  if (allows_memory_fallback(job))
    for (const MemoryVariant& form : memory_fallbacks(job))
      if (is_another(form, job)) out.push_back(form);
  return out;
}

}  // namespace

void run_with_memory_fallback(const TrainJob& job,
                              const std::function<void(const TrainJob&)>& run) {
  std::optional<std::vector<MemoryVariant>> forms;
  for (std::size_t i = 0;; ++i) try {
      if (i == 0) return run(job);
      TrainJob smaller = in_form(job, forms->at(i));
      smaller.together = job.together.for_attempt(i);
      return run(smaller);
    } catch (const StepDoesNotFit& error) {
      if (!forms) forms = forms_to_try(job);
      if (i + 1 == forms->size()) throw;
      const MemoryVariant& next = forms->at(i + 1);
      log_warning("{}; trying {} (set {} to skip this attempt)", first_line(error.what()),
                  next.words, join(settings_of(next, job.fields), " "));
    }
}

}  // namespace smelt::train
