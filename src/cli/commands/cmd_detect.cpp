#include <CLI/CLI.hpp>

#include "cli/commands/commands.h"
#include "cli/commands/model_option.h"
#include "cli/options/answers.h"
#include "pipeline/pipeline.h"

namespace smelt {

void add_detect_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("detect", "inference with an ELECTRA: find replaced tokens in a text");
  const auto model = add_model_option(*command);
  const auto options = add_detect_options(*command);
  command->callback([model, options] {
    if (model->is_stored()) {
      const StoredAnswers stored("detect", model->recipe.path, model->stored);
      return print_detected(*options, stored.detector());
    }
    print_detected(*options, detector_of(model->recipe.load_asked("detect")));
  });
}

}  // namespace smelt
