// smelt pretrain | eval | fill | export | replay: one stage of a recipe on its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/bad_batch.h"
#include "train/fill_mask.h"

namespace CLI {
class App;
}

namespace smelt {

void add_pretrain_command(CLI::App& app);
void add_replay_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_fill_command(CLI::App& app);
void add_export_command(CLI::App& app);

// What is asked of a model that fills masks, whichever it is.
struct FillOptions {
  std::vector<std::string> texts;
  std::int64_t top = 5;
};
std::shared_ptr<FillOptions> add_fill_options(CLI::App& command);
void print_filled(const std::vector<FilledText>& texts);
// What `smelt replay` prints.
void print_report(const GradientReport& report);

}  // namespace smelt
