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
#include "cli/commands/row_columns.h"
#include "cli/commands/sizes_text.h"
#include "cli/commands/sparse_prune.h"
#include "cli/options/hub_names.h"
#include "cli/options/number_check.h"
#include "cli/options/recipe_option.h"
#include "cli/options/text_flags.h"
#include "compress/prune.h"
#include "compress/quantize.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/compression/compress_choice.h"

namespace smelt::cli {
namespace {

struct QuantizeFlags {
  compress::QuantizeJob job;
  std::string weights = "int8", activations = "floats", calibrate, calibration = "percentile";
  double max_drop = 0;
  pipeline::ChoiceRows choice;
  RowColumns columns;
  bool force = false, json = false;
  std::string trained;                // run folder of --train; empty: quantize the model itself
  std::vector<std::string> settings;  // recipe fields to override in that run
};

OrderedJson quantized_json(const compress::QuantizeJob& job, const compress::Quantized& done) {
  OrderedJson loss = OrderedJson::object();
  for (const compress::Quantized::Tensor& tensor : done.tensors) loss[tensor.name] = tensor.sqnr_db;
  OrderedJson out{{"out", job.to},
                  {"bytes_before", done.bytes_before},
                  {"bytes", done.bytes},
                  {"sqnr_db", loss},
                  {"kept", done.kept}};
  if (job.activations != compress::Activations::floats) out["too_coarse"] = done.too_coarse;
  for (const auto& [module, range] : done.ranges)
    out["ranges"][module] = {{"most", range.most}, {"threshold", range.threshold}};
  if (!job.limit) return out;
  out["went_back"] = done.went_back;
  out["score"] = {{"before", done.before.choice}, {"after", done.after.choice}};
  out["score_of_other_rows"] = {{"before", done.before.unbiased}, {"after", done.after.unbiased}};
  return out;
}

void tell_limit(const compress::Quantized& done) {
  std::cout << "  score on the selection rows " << rounded(done.after.choice, 4) << ", before "
            << rounded(done.before.choice, 4) << "; on the other rows "
            << rounded(done.after.unbiased, 4) << ", before " << rounded(done.before.unbiased, 4)
            << "\n";
  for (const std::string& name : done.went_back)
    std::cout << "  restored to floats: " << name << "\n";
}

void take_codes(QuantizeFlags& f, const CLI::App& command) {
  if (f.weights == "int4") f.job.weights = compress::WeightType::int4;
  f.job.activations = choose_of("--activations", f.activations, compress::kActivations);
  f.job.calibration = choose_of("--calibration", f.calibration, compress::kCalibrations);
  if (command.count("--calibration") > 0 &&
      f.job.activations != compress::Activations::by_input_scale)
    throw UsageError(str("compress: --calibration with --activations ", f.activations,
                         ": only static activations are calibrated"),
                     "remove it, or use --activations static");
  const auto needs = [&](const char* flag, bool has, const char* what, const char* hint) {
    if (command.count(flag) > 0 && !has)
      throw UsageError(str("compress: ", flag, ": requires ", what), hint);
  };
  needs("--group", f.job.weights == compress::WeightType::int4, "--weights int4",
        "remove the flag");
  needs("--examples", !f.calibrate.empty(), "--calibrate", "remove the flag, or name rows");
  if (command.count("--smooth") > 0 && !(f.job.smooth > 0 && f.job.smooth <= 1))
    throw UsageError(str("compress: --smooth is ", f.job.smooth, ", must be above 0 and at most 1"),
                     "use --smooth 0.5");
}

void take_calibration(QuantizeFlags& f, const CLI::App& command) {
  if (f.calibrate.empty()) return;
  compress::PruneData& data = f.job.rows;
  pipeline::RowsToPredict asked = f.choice.rows;
  take_columns(f.columns, command, asked);
  data.rows = asked.files;
  data.rows.input = f.calibrate;
  if (data.rows.text.empty()) data.rows.text = data::LabelledFiles().text;
  if (data.rows.label.empty()) data.rows.label = data::LabelledFiles().label;
  if (command.count("--seq-length") > 0) data.seq_length = asked.seq_length;
  data.target_length = asked.target_length;
  data.device = f.choice.device;
  if (command.count("--batch") > 0) data.batch_size = f.choice.batch_size;
  data.prefix = asked.prefix;
}

void take_training(QuantizeFlags& f, const CLI::App& command) {
  if (f.trained.empty()) return;
  if (f.weights != "int8")
    throw UsageError(
        str("compress: --train with --weights ", f.weights, ": training requires --weights int8"),
        "remove one of them");
  if (command.count("--activations") > 0 && f.activations != "dynamic")
    throw UsageError(str("compress: --train with --activations ", f.activations,
                         ": training requires dynamic activations"),
                     "remove --activations");
  f.activations = "dynamic";
}

void train_in_codes(QuantizeFlags& f) {
  if (f.trained.empty()) return;
  require_apart(f.job.to, "--train", f.trained);
  (void)io::OutputDirectory(f.job.to);  // throws if the folder exists, before anything is trained
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
    throw UsageError(limited ? "compress: --max-drop needs labelled rows to score"
                             : "compress: --input without --max-drop",
                     limited ? "name a development set with --input"
                             : "add --max-drop POINTS, the largest loss of score");
  if (limited) {
    take_columns(f.columns, command, f.choice.rows);
    f.job.limit = pipeline::drop_limit(f.choice, f.max_drop, f.force);
  }
  take_calibration(f, command);
  compress::check_quantize_job(f.job);
  train_in_codes(f);
  const compress::Quantized done = compress::quantize_weights(f.job);
  if (f.json) {
    std::cout << quantized_json(f.job, done).dump() << "\n";
    return;
  }
  std::cout << f.job.to << ": " << counted(done.tensors.size(), "matrix", "matrices")
            << (f.job.weights == compress::WeightType::int4 ? " in 4 bits, " : " in 8 bits, ")
            << done.kept.size() << " kept as floats; " << sizes_text(done.bytes_before, done.bytes)
            << "\n";
  for (const std::string& name : done.too_coarse)
    std::cout << "  kept in floats, below " << compress::kLeastSqnr << " dB: " << name << "\n";
  if (limited) tell_limit(done);
  constexpr std::size_t kTold = 3;
  auto worst = done.tensors;
  std::ranges::stable_sort(worst, {}, &compress::Quantized::Tensor::sqnr_db);
  worst.resize(std::min(worst.size(), kTold));
  for (const compress::Quantized::Tensor& tensor : worst)
    std::cout << "  largest error: " << tensor.name << ", " << rounded(tensor.sqnr_db, 1)
              << " dB signal-to-noise ratio\n";
}

void add_model_and_out(CLI::App& command, std::string& from, std::string& out) {
  accept_hub_names(
      command
          .add_option("model", from,
                      "a fine-tuned BERT or ELECTRA, or a T5: a run's folder, a checkpoint, a "
                      "Hugging Face folder, or ORG/NAME on the Hugging Face Hub")
          ->required());
  command.add_option("--out", out, "folder to create")->required();
  add_segment_command_flag(command);
}

// Adds the flags for int8 and int4 quantization.
void add_codes(CLI::App& command, QuantizeFlags& f) {
  command
      .add_option("--weights", f.weights,
                  "int8: one scale per output channel; int4: one scale per --group of its "
                  "inputs")
      ->check(CLI::IsMember({"int8", "int4"}))
      ->capture_default_str();
  command.add_option("--group", f.job.group, "with int4: number of inputs that share a scale")
      ->check(number_from(8))
      ->capture_default_str();
  command.add_option(
      "--calibrate", f.calibrate,
      "labelled training rows, used to choose int4 codes (GPTQ; without rows each weight "
      "is rounded to the nearest code) and to calibrate the scales of static "
      "activations");
  command.add_option("--examples", f.job.rows.examples, "maximum number of --calibrate rows")
      ->check(number_from(1))
      ->capture_default_str();
  command
      .add_option("--activations", f.activations,
                  "inputs of matmuls: floats, or 8-bit integers with dynamic scales (one per "
                  "token) or static scales (from --calibrate's rows); with 8-bit inputs, matmuls "
                  "are computed in integers")
      ->capture_default_str();
  command
      .add_option("--calibration", f.calibration,
                  "with static: how the clipping range of a matmul's inputs is chosen: minmax, "
                  "percentile (99.999), entropy or mse")
      ->capture_default_str();
  command.add_option(
      "--smooth", f.job.smooth,
      "for a T5, with --activations and --calibrate: SmoothQuant's exponent, such as "
      "0.5: moves the scale of large activation channels into the weights");
  command.add_flag("--embeddings", f.job.embeddings,
                   "also quantize embedding tables, one scale per row");
}

void add_quantize(CLI::App& compress) {
  auto f = std::make_shared<QuantizeFlags>();
  auto* command = compress.add_subcommand(
      "quantize", "quantize weights to int8 or int4, and activations to int8");
  add_model_and_out(*command, f->job.from, f->job.to);
  add_codes(*command, *f);
  command->add_option(
      "--keep", f->job.keep,
      "matrices to keep in floats: a pattern of names, such as '*.wo'; may be given "
      "several times");
  command
      ->add_option(
          "--max-drop", f->max_drop,
          "largest loss of score on --input's rows, in points: the matrices with the largest "
          "error are restored to floats until the limit holds")
      ->check(number_from(0));
  command->add_flag("--force", f->force, "write the folder even if it exceeds --max-drop");
  command->add_option(
      "--input", f->choice.rows.files.input,
      "labelled development rows for --max-drop: every second row is used to choose the matrices "
      "that stay floats, the others to report the score");
  command->add_option("--metric", f->choice.metric,
                      "score to use, as in `smelt metrics`; default: by the type of problem");
  add_column_flags(*command, f->columns, f->choice.rows);
  command->add_option("--batch", f->choice.batch_size, "rows per batch")
      ->check(number_from(1))
      ->capture_default_str();
  command->add_option("--device", f->choice.device, "cpu, gpu, tpu or auto")->capture_default_str();
  auto* train = command->add_option(
      "--train", f->trained,
      "first train with quantized matmuls to match the model's own outputs (quantization-aware "
      "training), as a run in this new folder; MODEL must be a run folder, whose recipe names the "
      "data");
  add_set_option(*command, f->settings);
  command->get_option("--set")->needs(train);
  command->add_flag("--json", f->json, "print a JSON object instead of lines")->excludes(train);
  command->callback([f, command] { run_quantize(*f, *command); });
}

struct PruneFlags {
  compress::PruneJob job;
  SparseFlags sparse;
  std::int64_t layers = 0, decoder_layers = 0;
  std::string format = "auto", header = "names";
  std::string tuned;                  // run folder of --tune; empty: no training after pruning
  std::vector<std::string> settings;  // recipe fields to override in that run
  bool json = false;
};

OrderedJson pruned_json(const compress::PruneJob& job, const compress::Pruned& done) {
  OrderedJson stacks = OrderedJson::object(), units = stacks;
  for (const compress::Pruned::Stack& stack : done.stacks)
    stacks[stack.what] = {{"before", stack.before}, {"kept", stack.kept}};
  for (const compress::Pruned::Units& kind : done.units)
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
  f.job.data.rows.format = text::parse_file_format(f.format);
  f.job.data.rows.header = choose_of("--header", f.header, text::kHeaders);
  if (command.count("--layers") > 0) f.job.layers.count = f.layers;
  if (command.count("--decoder-layers") > 0) f.job.decoder_layers.count = f.decoder_layers;
  const DistillFlags tune{
      .teacher = f.job.from, .student = f.job.to, .out = f.tuned, .settings = f.settings};
  const bool is_cut =
      !f.tuned.empty() && io::exists(f.job.to) && compress::is_already_pruned(f.job);
  if (!f.tuned.empty()) check_distill(tune, is_cut);
  if (is_cut) {
    std::cout << f.job.to << " is already pruned this way\n" << std::flush;
    return void(distill(tune));
  }
  const compress::Pruned done = compress::prune_model(f.job);
  if (f.json) {
    std::cout << pruned_json(f.job, done).dump() << "\n";
    return;
  }
  std::cout << f.job.to << ": " << done.parameters << " of " << done.parameters_before
            << " parameters; " << sizes_text(done.bytes_before, done.bytes) << "\n";
  for (const compress::Pruned::Stack& stack : done.stacks)
    std::cout << "  " << stack.kept.size() << " of " << stack.before << " " << stack.what << ": "
              << join(stack.kept, ", ") << "\n";
  if (done.macs)
    std::cout << "  " << percent(*done.macs) << " of the layers' multiplications remain\n";
  for (const compress::Pruned::Units& kind : done.units) {
    std::cout << "  " << kind.after << " of " << kind.before << " " << kind.what
              << " in each layer; they have at least "
              << percent(std::ranges::min(kind.kept_importance))
              << " of a layer's importance for the loss\n";
    if (!kind.lost.empty())
      std::cout << "    at most " << percent(std::ranges::max(kind.lost))
                << " of the squared output of a layer's " << kind.what << " is lost, "
                << percent(std::ranges::max(kind.lost_before)) << " before rescaling"
                << (kind.not_rescaled > 0
                        ? str("; ", kind.not_rescaled, " of ", kind.lost.size(), " not rescaled")
                        : "")
                << "\n";
  }
  if (!f.tuned.empty()) distill(tune);
}

// Adds the flags for the rows that decide which units are pruned.
void add_rows(CLI::App& command, PruneFlags& f) {
  compress::PruneData& data = f.job.data;
  command.add_option("--input", data.rows.input,
                     "labelled training rows (JSONL, TSV, CSV, Parquet), from which --ffn, --heads "
                     "and --macs estimate which neurons and heads matter most for the loss");
  command.add_option("--format", f.format, "format of --input; auto: by the file name")
      ->capture_default_str();
  command
      .add_option("--header", f.header,
                  "first line of a TSV or CSV: names, none (columns are numbers) or skipped")
      ->capture_default_str();
  command.add_option("--field", data.rows.text, "column of the text")->capture_default_str();
  command.add_option("--pair-field", data.rows.pair, "column of a second text");
  command
      .add_option("--label-field", data.rows.label, "column of the label, or of a T5's target text")
      ->capture_default_str();
  command.add_option("--prefix", data.prefix,
                     "for a T5: prefix of each text; default: the prefix used in its fine-tuning");
  const auto number = [&](const char* name, auto& value, double least, const char* help) {
    command.add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  command
      .add_option(
          "--seq-length", data.seq_length,
          "maximum number of tokens per text; default: 128, or the model's maximum if lower")
      ->check(number_from(5));
  number("--target-length", data.target_length, 1,
         "maximum number of tokens of a T5's target text");
  number("--examples", data.examples, 1, "maximum number of rows to use");
  number("--batch", data.batch_size, 1, "rows per batch");
  number("--seed", data.seed, 0, "random seed for the choice and order of rows");
  command.add_option("--device", data.device, "cpu, gpu, tpu or auto")->capture_default_str();
}

void add_prune(CLI::App& compress) {
  auto f = std::make_shared<PruneFlags>();
  auto* command = compress.add_subcommand("prune",
                                          "remove layers, neurons and heads (smaller and faster), "
                                          "or set weights to 0 (only a smaller file)");
  add_model_and_out(*command, f->job.from, f->job.to);
  command->add_option("--layers", f->layers,
                      "number of layers to keep, evenly spaced; for a T5, of the encoder");
  command->add_option("--keep-layers", f->job.layers.kept, "indices of the layers to keep: 0,2,4")
      ->delimiter(',');
  command->add_option("--decoder-layers", f->decoder_layers, "as --layers, for a T5's decoder");
  command
      ->add_option("--keep-decoder-layers", f->job.decoder_layers.kept,
                   "as --keep-layers, for a T5's decoder")
      ->delimiter(',');
  command
      ->add_option("--ffn", f->job.ffn,
                   "share of the feed-forward neurons to keep in each layer: the most important "
                   "for the loss")
      ->capture_default_str();
  command->add_option("--heads", f->job.heads, "share of the attention heads to keep in each layer")
      ->capture_default_str();
  command
      ->add_option(
          "--macs", f->job.macs,
          "instead of --ffn and --heads: maximum share of the layers' multiplications to keep; the "
          "most important heads and neurons are kept within that budget")
      ->capture_default_str();
  command->add_flag(
      "!--no-rescale", f->job.rescale,
      "do not rescale the remaining neurons and heads to compensate for the removed ones");
  add_sparse_flags(*command, f->sparse);
  add_rows(*command, *f);
  auto* tune = command->add_option(
      "--tune", f->tuned,
      "then distill the original model into the pruned one (as `compress distill`), as a run in "
      "this new folder; with --sparsity, weights are set to 0 gradually during that run. MODEL "
      "must "
      "be a run folder, whose recipe names the data");
  add_set_option(*command, f->settings);
  command->get_option("--set")->needs(tune);
  command->add_flag("--json", f->json, "print a JSON object instead of lines")->excludes(tune);
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

}  // namespace smelt::cli
