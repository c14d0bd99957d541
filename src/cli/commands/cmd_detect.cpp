#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/model_option.h"
#include "cli/options/answers.h"

namespace smelt::cli {

void add_detect_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("detect", "inference with an ELECTRA: find replaced tokens in a text");
  const auto model = add_model_option(*command);
  const auto options = add_detect_options(*command);
  command->callback([model, options] {
    pipeline::PretrainedModel loaded = model->load(pipeline::InferenceTask::detect);
    print_detected(*options, [&](const auto& texts) { return loaded.detect(texts); });
  });
}

}  // namespace smelt::cli
