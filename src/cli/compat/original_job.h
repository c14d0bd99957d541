// The training job of an original program's command line, without its data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace CLI {
class App;
}

namespace smelt::cli {

// Returns the job on a number of TPU devices. Throws UsageError if it cannot run on them.
using OriginalJob = std::function<train::TrainJob(std::int64_t devices)>;

// Parses "run_pretraining --…", "electra run_pretraining --…" or "jestimator --…". Throws
// UsageError for another command, for invalid flags, and for a job whose length depends on its
// data.
OriginalJob original_job(const std::vector<std::string>& words);

// Adds a command with the same flags, whose callback passes the job to `take` instead of running
// it.
using TakeJob = std::function<void(OriginalJob)>;
void add_run_pretraining_job(CLI::App& app, const TakeJob& take);
void add_electra_job(CLI::App& app, const TakeJob& take);
void add_jestimator_job(CLI::App& app, const TakeJob& take);

}  // namespace smelt::cli
