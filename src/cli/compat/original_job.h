// What an original program's command line would train, without its data.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "train/trainer.h"

namespace CLI {
class App;
}

namespace smelt {

// The job on so many devices of a TPU. UsageError where they cannot take it.
using OriginalJob = std::function<TrainJob(std::int64_t devices)>;

// Of "run_pretraining --…", "electra run_pretraining --…" or "jestimator --…". UsageError for
// another command, for flags that it does not know or cannot take, and for a job whose length only
// its data say.
OriginalJob original_job(const std::vector<std::string>& words);

// The same command with its flags, whose callback gives the job instead of running it.
using TakeJob = std::function<void(OriginalJob)>;
void add_run_pretraining_job(CLI::App& app, const TakeJob& take);
void add_electra_job(CLI::App& app, const TakeJob& take);
void add_jestimator_job(CLI::App& app, const TakeJob& take);

}  // namespace smelt
