#include "cli/compat/original_job.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/options/parse_arguments.h"

namespace smelt::cli {

OriginalJob original_job(const std::vector<std::string>& words) {
  CLI::App app("", "smelt");
  OriginalJob out;
  const TakeJob take = [&](OriginalJob job) { out = std::move(job); };
  for (const auto& add : {add_run_pretraining_job, add_electra_job, add_jestimator_job})
    add(app, take);
  app.require_subcommand(1);
  parse(app, words);
  CHECK(out != nullptr, "no job");
  return out;
}

}  // namespace smelt::cli
