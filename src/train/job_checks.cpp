#include "train/job_checks.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/nearest_name.h"
#include "data/description.h"

namespace smelt {

void check_described(const TrainJob& job, const ExampleSource& source) {
  if (std::cmp_less(source.epoch_size(), job.config.batch_size))
    spdlog::warn("train: a batch of {} takes some of the {} examples several times",
                 job.config.batch_size, source.epoch_size());
  if (const auto description = source.description())
    check_description(
        *description,
        {.examples = source.size(), .vocab = job.vocab, .settings = job.task.described});
}

void check_best(const TrainJob& job, const std::optional<Scorer>& scorer) {
  if (job.keep_best.empty()) return;
  std::vector<std::string> known;
  if (scorer)
    for (const ReportedMeasure& m : scorer->program().report.measures) known.push_back(m.name);
  if (std::ranges::find(known, job.keep_best) == known.end())
    throw UsageError(str("train: ", job.fields("keep_best"), " is '", job.keep_best,
                         "', which no validation measures"),
                     known.empty() ? "have it validate" : did_you_mean(job.keep_best, known));
}

}  // namespace smelt
