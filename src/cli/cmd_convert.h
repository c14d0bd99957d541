// `smelt convert` and `smelt inspect`: checkpoints of smelt's, TensorFlow's and Hugging Face's.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

void add_convert_command(CLI::App& app);
void add_inspect_command(CLI::App& app);

}  // namespace smelt
