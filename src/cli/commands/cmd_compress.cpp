#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include "base/choice.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "cli/commands/cmd_distill.h"
#include "cli/commands/commands.h"
#include "cli/commands/recipe_option.h"
#include "cli/commands/row_columns.h"
#include "cli/commands/sizes_text.h"
#include "cli/commands/sparse_prune.h"
#include "cli/options/number_check.h"
#include "cli/options/text_flags.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/compress_choice.h"

namespace smelt {
namespace {

struct QuantizeFlags {
  QuantizeJob job;
  std::string weights = "int8", activations = "floats", calibrate, calibration = "percentile";
  double max_drop = 0;
  ChoiceRows choice;
  RowColumns columns;
  bool force = false, json = false;
  std::string trained;                // the run's folder; empty: codes are those of the model
  std::vector<std::string> settings;  // of its recipe
};

OrderedJson quantized_json(const QuantizeJob& job, const Quantized& done) {
  OrderedJson loss = OrderedJson::object();
  for (const Quantized::Tensor& tensor : done.tensors) loss[tensor.name] = tensor.sqnr_db;
  OrderedJson out{{"out", job.to},
                  {"bytes_before", done.bytes_before},
                  {"bytes", done.bytes},
                  {"sqnr_db", loss},
                  {"kept", done.kept}};
  if (job.activations != Activations::floats) out["too_coarse"] = done.too_coarse;
  for (const auto& [module, range] : done.ranges)
    out["ranges"][module] = {{"most", range.most}, {"threshold", range.threshold}};
  if (!job.limit) return out;
  out["went_back"] = done.went_back;
  out["score"] = {{"before", done.before.choice}, {"after", done.after.choice}};
  out["score_of_other_rows"] = {{"before", done.before.told}, {"after", done.after.told}};
  return out;
}

void tell_limit(const Quantized& done) {
  std::cout << "  score of every second row " << rounded(done.after.choice, 4) << ", of the model "
            << rounded(done.before.choice, 4) << "; of the other rows "
            << rounded(done.after.told, 4) << ", of the model " << rounded(done.before.told, 4)
            << "\n";
  for (const std::string& name : done.went_back) std::cout << "  back in floats: " << name << "\n";
}

void take_codes(QuantizeFlags& f, const CLI::App& command) {
  if (f.weights == "int4") f.job.weights = WeightCodes::int4;
  f.job.activations = choose_of("--activations", f.activations, kActivations);
  f.job.calibration = choose_of("--calibration", f.calibration, kCalibrations);
  if (command.count("--calibration") > 0 && f.job.activations != Activations::by_input_scale)
    throw UsageError(str("compress: --calibration with --activations ", f.activations,
                         ", which takes no scales of rows"),
                     "leave it out, or take --activations static");
  const auto needs = [&](const char* flag, bool has, const char* what, const char* hint) {
    if (command.count(flag) > 0 && !has)
      throw UsageError(str("compress: ", flag, " is of ", what), hint);
  };
  needs("--group", f.job.weights == WeightCodes::int4, "--weights int4", "leave it out");
  needs("--examples", !f.calibrate.empty(), "--calibrate's rows", "leave it out, or name rows");
  if (command.count("--smooth") > 0 && !(f.job.smooth > 0 && f.job.smooth <= 1))
    throw UsageError(str("compress: --smooth is ", f.job.smooth, ", must be above 0 and at most 1"),
                     "use --smooth 0.5");
}

void take_calibration(QuantizeFlags& f, const CLI::App& command) {
  if (f.calibrate.empty()) return;
  PruneData& data = f.job.rows;
  AskedRows asked = f.choice.rows;
  take_columns(f.columns, command, asked);
  data.rows = asked.files;
  data.rows.input = f.calibrate;
  if (data.rows.text.empty()) data.rows.text = LabelledFiles().text;
  if (data.rows.label.empty()) data.rows.label = LabelledFiles().label;
  if (command.count("--seq-length") > 0) data.seq_length = asked.seq_length;
  data.target_length = asked.target_length;
  data.device = f.choice.device;
  if (command.count("--batch") > 0) data.batch_size = f.choice.batch_size;
  data.prefix = asked.prefix;
}

void take_training(QuantizeFlags& f, const CLI::App& command) {
  if (f.trained.empty()) return;
  if (f.weights != "int8")
    throw UsageError(str("compress: --train with --weights ", f.weights,
                         ": what is learned are products of eight bits"),
                     "leave one of them out");
  if (command.count("--activations") > 0 && f.activations != "dynamic")
    throw UsageError(str("compress: --train with --activations ", f.activations,
                         ": what is learned are activations that are rounded as they come"),
                     "leave out --activations");
  f.activations = "dynamic";
}

void train_in_codes(QuantizeFlags& f) {
  if (f.trained.empty()) return;
  require_apart(f.job.to, "--train", f.trained);
  (void)OutputDirectory(f.job.to);  // which says before anything is trained that something is there
  std::vector<std::string> settings = f.settings;
  settings.emplace_back("train.fake_quant=true");
  teach_itself(f.job.from, f.trained, settings);
  f.job.from = f.trained;
}

void run_quantize(QuantizeFlags& f, const CLI::App& command) {
  take_training(f, command);
  take_codes(f, command);
  const bool limited = command.count("--max-drop") > 0;
  if (limited == f.choice.rows.files.input.empty())
    throw UsageError(limited ? "compress: --max-drop is of a score, and there are no rows for it"
                             : "compress: --input without --max-drop",
                     limited ? "name labelled rows of development with --input"
                             : "say how much of their score may be lost, in points");
  if (limited) {
    take_columns(f.columns, command, f.choice.rows);
    f.job.limit = drop_limit(f.choice, f.max_drop, f.force);
  }
  take_calibration(f, command);
  check_codes(f.job);
  train_in_codes(f);
  const Quantized done = quantize_weights(f.job);
  if (f.json) {
    std::cout << quantized_json(f.job, done).dump() << "\n";
    return;
  }
  std::cout << f.job.to << ": " << counted(done.tensors.size(), "matrix", "matrices")
            << (f.job.weights == WeightCodes::int4 ? " in 4 bits, " : " in 8 bits, ")
            << done.kept.size() << " kept as floats; " << sizes_text(done.bytes_before, done.bytes)
            << "\n";
  for (const std::string& name : done.too_coarse)
    std::cout << "  stays in floats, below " << kLeastSqnr << " dB: " << name << "\n";
  if (limited) tell_limit(done);
  constexpr std::size_t kTold = 3;
  auto worst = done.tensors;
  std::ranges::stable_sort(worst, {}, &Quantized::Tensor::sqnr_db);
  worst.resize(std::min(worst.size(), kTold));
  for (const Quantized::Tensor& tensor : worst)
    std::cout << "  largest error: " << tensor.name << ", " << rounded(tensor.sqnr_db, 1)
              << " dB signal-to-noise ratio\n";
}

void add_model_and_out(CLI::App& command, std::string& from, std::string& out) {
  command
      .add_option("model", from,
                  "a fine-tuned BERT or ELECTRA, or a T5: a run's folder, a checkpoint or a "
                  "Hugging Face folder")
      ->required();
  command.add_option("--out", out, "the folder to make")->required();
  add_segment_command_flag(command);
}

// What becomes codes, and how.
void add_codes(CLI::App& command, QuantizeFlags& f) {
  command
      .add_option("--weights", f.weights,
                  "int8: each output channel by a scale of its own; int4: each --group of its "
                  "inputs")
      ->check(CLI::IsMember({"int8", "int4"}))
      ->capture_default_str();
  command.add_option("--group", f.job.group, "of int4: inputs that share a scale")
      ->check(number_from(8))
      ->capture_default_str();
  command.add_option("--calibrate", f.calibrate,
                     "labelled rows that the model was trained on: by their products codes of int4 "
                     "make up for one another (GPTQ; without them each is the nearest), and what "
                     "comes to a product has its static scale");
  command.add_option("--examples", f.job.rows.examples, "of --calibrate, at most")
      ->check(number_from(1))
      ->capture_default_str();
  command
      .add_option("--activations", f.activations,
                  "floats, dynamic or static: what comes to a product is rounded to eight bits, "
                  "too, each token by its own scale or all by one of --calibrate's rows, and "
                  "products are of integers")
      ->capture_default_str();
  command
      .add_option("--calibration", f.calibration,
                  "of static: what is taken for the largest of what comes to a product: minmax, "
                  "percentile (99.999), entropy or mse")
      ->capture_default_str();
  command.add_option("--smooth", f.job.smooth,
                     "of a T5, with --activations and --calibrate: SmoothQuant's exponent, as 0.5: "
                     "large channels hand some of their size to the matrix that takes them");
  command.add_flag("--embeddings", f.job.embeddings, "the tables, too, each row by its own scale");
}

void add_quantize(CLI::App& compress) {
  auto f = std::make_shared<QuantizeFlags>();
  auto* command = compress.add_subcommand(
      "quantize", "quantize weights to int8 or int4, and activations to int8");
  add_model_and_out(*command, f->job.from, f->job.to);
  add_codes(*command, *f);
  command->add_option("--keep", f->job.keep,
                      "matrices that stay as they are: a pattern of names, as '*.wo'; may be given "
                      "several times");
  command
      ->add_option("--max-drop", f->max_drop,
                   "points of the score of --input's rows that may be lost: what lost most of its "
                   "signal goes back to floats until it holds")
      ->check(number_from(0));
  command->add_flag("--force", f->force, "write a folder that loses more, too");
  command->add_option("--input", f->choice.rows.files.input,
                      "labelled rows of development: every second one chooses, the others tell "
                      "what that is worth");
  command->add_option("--metric", f->choice.metric,
                      "as `smelt metrics` has it; else the problem's");
  add_column_flags(*command, f->columns, f->choice.rows);
  command->add_option("--batch", f->choice.batch_size, "rows at a time")
      ->check(number_from(1))
      ->capture_default_str();
  command->add_option("--device", f->choice.device, "cpu, gpu, tpu or auto")->capture_default_str();
  auto* train = command->add_option(
      "--train", f->trained,
      "first train it with products as those codes make them, held to what it says itself, as a "
      "run in this new folder; the model is a run's, whose recipe gives the data");
  add_set_option(*command, f->settings);
  command->get_option("--set")->needs(train);
  command->add_flag("--json", f->json, "a JSON object instead of lines")->excludes(train);
  command->callback([f, command] { run_quantize(*f, *command); });
}

struct PruneFlags {
  PruneJob job;
  SparseFlags sparse;
  std::int64_t layers = 0, decoder_layers = 0;
  std::string format = "auto", header = "names";
  std::string tuned;                  // the run's folder; empty: what is cut stays as it is
  std::vector<std::string> settings;  // of its recipe
  bool json = false;
};

OrderedJson pruned_json(const PruneJob& job, const Pruned& done) {
  OrderedJson stacks = OrderedJson::object(), units = stacks;
  for (const Pruned::Stack& stack : done.stacks)
    stacks[stack.what] = {{"before", stack.before}, {"kept", stack.kept}};
  for (const Pruned::Units& kind : done.units)
    units[kind.what] = {{"before", kind.before},
                        {"after", kind.after},
                        {"kept_importance", kind.kept_importance},
                        {"output_lost_before", kind.lost_before},
                        {"output_lost", kind.lost}};
  return {{"out", job.to},
          {"parameters_before", done.parameters_before},
          {"parameters", done.parameters},
          {"bytes_before", done.bytes_before},
          {"bytes", done.bytes},
          {"stacks", stacks},
          {"units", units},
          {"macs", done.macs ? OrderedJson(*done.macs) : OrderedJson()}};
}

void run_prune(PruneFlags& f, const CLI::App& command) {
  if (const auto sparse = sparse_job(f.sparse, command, f.job.from, f.job.to))
    return make_sparse(*sparse, {f.tuned, f.settings, f.sparse.penalty}, f.json);
  f.job.data.rows.format = parse_file_format(f.format);
  f.job.data.rows.header = choose_of("--header", f.header, kHeaders);
  if (command.count("--layers") > 0) f.job.layers.count = f.layers;
  if (command.count("--decoder-layers") > 0) f.job.decoder_layers.count = f.decoder_layers;
  const DistillFlags tune{
      .teacher = f.job.from, .student = f.job.to, .out = f.tuned, .settings = f.settings};
  const bool is_cut = !f.tuned.empty() && exists(f.job.to) && is_pruned_so(f.job);
  if (!f.tuned.empty()) check_distill(tune, is_cut);
  if (is_cut) {
    std::cout << f.job.to << " is cut so already\n" << std::flush;
    return void(distill(tune));
  }
  const Pruned done = prune_model(f.job);
  if (f.json) {
    std::cout << pruned_json(f.job, done).dump() << "\n";
    return;
  }
  std::cout << f.job.to << ": " << done.parameters << " of " << done.parameters_before
            << " parameters; " << sizes_text(done.bytes_before, done.bytes) << "\n";
  for (const Pruned::Stack& stack : done.stacks)
    std::cout << "  " << stack.kept.size() << " of " << stack.before << " " << stack.what << ": "
              << join(stack.kept, ", ") << "\n";
  if (done.macs)
    std::cout << "  " << percent(*done.macs) << " of the layers' multiplications are left\n";
  for (const Pruned::Units& kind : done.units) {
    std::cout << "  " << kind.after << " of " << kind.before << " " << kind.what
              << " in each layer; of what the loss hangs on, at least "
              << percent(std::ranges::min(kind.kept_importance)) << " of a layer's is kept\n";
    if (!kind.lost.empty())
      std::cout << "    of the squares that a layer's " << kind.what << " add up to, at most "
                << percent(std::ranges::max(kind.lost)) << " are missing, "
                << percent(std::ranges::max(kind.lost_before)) << " before what stays was rescaled"
                << (kind.not_rescaled > 0 ? str("; ", kind.not_rescaled, " of ", kind.lost.size(),
                                                " stay as they were")
                                          : "")
                << "\n";
  }
  if (!f.tuned.empty()) distill(tune);
}

// What units are chosen by.
void add_rows(CLI::App& command, PruneFlags& f) {
  PruneData& data = f.job.data;
  command.add_option("--input", data.rows.input,
                     "labelled rows that the model was trained on (JSONL, TSV, CSV, Parquet), by "
                     "which --ffn, --heads and --macs choose");
  command.add_option("--format", f.format, "of --input, where its name does not say it")
      ->capture_default_str();
  command
      .add_option("--header", f.header,
                  "first line of a TSV or CSV: names, none (columns are numbers) or skipped")
      ->capture_default_str();
  command.add_option("--field", data.rows.text, "column of the text")->capture_default_str();
  command.add_option("--pair-field", data.rows.pair, "column of a second text");
  command.add_option("--label-field", data.rows.label, "column of the label, or of a T5's answer")
      ->capture_default_str();
  command.add_option("--prefix", data.prefix, "of a T5: before each text; else its own");
  const auto number = [&](const char* name, auto& value, double least, const char* help) {
    command.add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  command
      .add_option("--seq-length", data.seq_length,
                  "tokens of a text; without it 128, or as many as the model takes")
      ->check(number_from(5));
  number("--target-length", data.target_length, 1, "tokens of a T5's answer");
  number("--examples", data.examples, 1, "rows that are looked at, at most");
  number("--batch", data.batch_size, 1, "rows at a time");
  number("--seed", data.seed, 0, "which rows, and in which batches");
  command.add_option("--device", data.device, "cpu, gpu, tpu or auto")->capture_default_str();
}

void add_prune(CLI::App& compress) {
  auto f = std::make_shared<PruneFlags>();
  auto* command = compress.add_subcommand("prune",
                                          "remove layers, neurons and heads (smaller and faster), "
                                          "or set weights to 0 (a smaller file only)");
  add_model_and_out(*command, f->job.from, f->job.to);
  command->add_option("--layers", f->layers, "so many stay, spread evenly; a T5's encoder's");
  command->add_option("--keep-layers", f->job.layers.kept, "those of these numbers stay: 0,2,4")
      ->delimiter(',');
  command->add_option("--decoder-layers", f->decoder_layers, "the same of a T5's decoder");
  command->add_option("--keep-decoder-layers", f->job.decoder_layers.kept, "the same, by number")
      ->delimiter(',');
  command
      ->add_option("--ffn", f->job.ffn,
                   "share of each feed-forward's neurons that stays: those that the loss hangs on "
                   "most")
      ->capture_default_str();
  command->add_option("--heads", f->job.heads, "the same of attention's heads")
      ->capture_default_str();
  command
      ->add_option("--macs", f->job.macs,
                   "in the place of both: share of the layers' multiplications that is left at "
                   "most; as many heads and neurons stay as keep most of what the loss hangs on")
      ->capture_default_str();
  command->add_flag("!--no-rescale", f->job.rescale,
                    "neurons and heads that stay are left as they are, not made up for the others");
  add_sparse_flags(*command, f->sparse);
  add_rows(*command, *f);
  auto* tune = command->add_option(
      "--tune", f->tuned,
      "then teach what is left to say what the model says (`compress distill`), as a run in this "
      "new folder, in which weights become 0 by and by where --sparsity is given; the model is a "
      "run's, whose recipe gives the data");
  add_set_option(*command, f->settings);
  command->get_option("--set")->needs(tune);
  command->add_flag("--json", f->json, "a JSON object instead of lines")->excludes(tune);
  command->callback([f, command] {
    require_apart(f->job.to, "--tune", f->tuned);
    run_prune(*f, *command);
  });
}

}  // namespace

void add_compress_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compress", "make a fine-tuned model smaller: quantize, prune, distill, compare");
  command->require_subcommand(1);
  add_prune(*command);
  add_distill(*command);
  add_quantize(*command);
  add_compress_report_commands(*command);
}

}  // namespace smelt
