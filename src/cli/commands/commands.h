// The commands of the program: each file cmd_*.cpp adds some; commands.cpp lists them.
#pragma once

namespace CLI {
class App;
}

namespace smelt::cli {

// Parses the command line, runs the command and prints an error as one message. Returns the exit
// code: 0 success, 1 environment error, 2 usage error, 70 a bug (see base/exit_codes.h).
int run_command_line(int argc, char** argv);

// smelt bench: measures one training step on random examples.
void add_bench_command(CLI::App& app);

// smelt clean: removes files of a run's folder that are no longer needed.
void add_clean_command(CLI::App& app);

// smelt compress: makes smaller models from fine-tuned ones.
void add_compress_command(CLI::App& app);

// smelt compress report and load.
void add_compress_report_commands(CLI::App& compress);

// `smelt convert` and `smelt inspect`: checkpoints of smelt, TensorFlow and Hugging Face.
void add_convert_command(CLI::App& app);
void add_inspect_command(CLI::App& app);

// smelt data bert | electra | tokens | convert | inspect | index | bench.
void add_data_command(CLI::App& app);

// smelt detect: finds tokens of a text that a discriminator predicts to be replaced.
void add_detect_command(CLI::App& app);

// smelt data inspect: shows the contents of record files. Added below `data`.
void add_data_inspect_command(CLI::App& data);

// smelt hub download | whoami | push: models and datasets of the Hugging Face Hub.
void add_hub_command(CLI::App& app);
// smelt embed | retrieve: embeddings of texts, and their evaluation on a retrieval dataset.
void add_embed_command(CLI::App& app);
void add_retrieve_command(CLI::App& app);

// smelt generate: inference with a T5.
void add_generate_command(CLI::App& app);

// smelt metrics: scores predictions against references, with intervals, and compares two models.
void add_metrics_command(CLI::App& app);

// smelt train | eval | fill | export | replay: one stage of a recipe.
void add_train_command(CLI::App& app);
void add_replay_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_fill_command(CLI::App& app);
void add_export_command(CLI::App& app);

// `smelt data overview`.
void add_data_overview_command(CLI::App& data);

// smelt predict: inference with a fine-tuned model.
void add_predict_command(CLI::App& app);

// smelt data index | bench: index and read speed of record files. Added below `data`.
void add_data_index_command(CLI::App& data);
void add_data_bench_command(CLI::App& data);

// smelt serve: inference for another program, by JSON lines.
void add_serve_command(CLI::App& app);

// smelt setup: fetches the plugin of a device.
void add_setup_command(CLI::App& app);

// smelt tokenize: text to pieces and back.
void add_tokenize_command(CLI::App& app);

// smelt status | compare | report: progress and metrics that runs have recorded.
void add_status_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_report_command(CLI::App& app);

// smelt vocab train: trains a WordPiece vocabulary on text.
void add_vocab_command(CLI::App& app);

}  // namespace smelt::cli
