// smelt pretrain | eval | fill | export | replay: one stage of a recipe on its own.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_pretrain_command(CLI::App& app);
void add_replay_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_fill_command(CLI::App& app);
void add_export_command(CLI::App& app);

}  // namespace smelt
