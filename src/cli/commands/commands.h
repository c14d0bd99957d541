// The commands of the program: each file cmd_*.cpp adds some; commands.cpp lists them.
#pragma once

namespace CLI {
class App;
}

namespace smelt {

// Parses, runs the command, prints an error as one message. Returns the exit code: 0 done, 1 the
// world failed, 2 the user can mend it, 70 a bug.
int run_command_line(int argc, char** argv);

// smelt bench: the time of one training step on made-up examples.
void add_bench_command(CLI::App& app);

// smelt clean: what a run's folder need not hold any more.
void add_clean_command(CLI::App& app);

// smelt cloud: who one is at Google, and which TPUs there are.
void add_cloud_command(CLI::App& app);

// smelt compress: smaller models of fine-tuned ones.
void add_compress_command(CLI::App& app);

// smelt compress report and load.
void add_compress_report_commands(CLI::App& compress);

// `smelt convert` and `smelt inspect`: checkpoints of smelt's, TensorFlow's and Hugging Face's.
void add_convert_command(CLI::App& app);
void add_inspect_command(CLI::App& app);

// smelt ctpu …: the retired tool ctpu (tensorflow/tpu, tools/ctpu), whose TPU Nodes are TPU VMs
// now.
void add_ctpu_command(CLI::App& app);

// smelt data bert | electra | tokens | convert | inspect | index | bench.
void add_data_command(CLI::App& app);

// smelt detect: which tokens of a text a discriminator holds for replaced.
void add_detect_command(CLI::App& app);

// smelt data inspect: what is in record files.
// Below `data`.
void add_data_inspect_command(CLI::App& data);

// smelt generate: inference with a T5.
void add_generate_command(CLI::App& app);

// smelt cloud up, status, stop, start and down: a TPU machine, from being made to being deleted.
void add_machine_commands(CLI::App& cloud);

// smelt metrics: scores of predictions against references, with intervals, and two models compared.
void add_metrics_command(CLI::App& app);

// smelt train | eval | fill | export | replay: one stage of a recipe on its own.
void add_train_command(CLI::App& app);
void add_replay_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_fill_command(CLI::App& app);
void add_export_command(CLI::App& app);

// `smelt data overview`.
void add_data_overview_command(CLI::App& data);

// smelt pod: which process of a pod a command would be here, and why.
void add_pod_command(CLI::App& app);

// smelt predict: inference with a fine-tuned model.
void add_predict_command(CLI::App& app);

// smelt cloud prices: what TPUs cost, and since when that is known.
void add_prices_command(CLI::App& cloud);

// smelt data index | bench: what concerns record files as such.
// Below `data`.
void add_data_index_command(CLI::App& data);
void add_data_bench_command(CLI::App& data);

// smelt setup: fetches the plugin of a device.
void add_setup_command(CLI::App& app);

// smelt tokenize: text to pieces and back.
void add_tokenize_command(CLI::App& app);

// smelt tpu-vm …: the lines of `gcloud compute tpus tpu-vm`, with its flags.
void add_tpu_vm_command(CLI::App& app);

// smelt status | compare | report: what runs have told of themselves (track/).
void add_status_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_report_command(CLI::App& app);

// smelt vocab train: a WordPiece vocabulary from text.
void add_vocab_command(CLI::App& app);

}  // namespace smelt
