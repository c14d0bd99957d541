// smelt ttt: the command of wangcongcong123/ttt (run.py with ttt/args.py), which fine-tunes BERT,
// ELECTRA and T5 on rows of texts and labels.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

void add_ttt_command(CLI::App& app);

}  // namespace smelt::cli
