#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/choice.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "checkpoint/interop/convert.h"
#include "checkpoint/interop/onnx_model.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "cli/commands/commands.h"
#include "cli/options/hub_names.h"
#include "cli/options/json_output.h"
#include "cli/options/number_check.h"
#include "data/preprocess/work_folder.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"

namespace smelt::cli {
namespace {

struct ConvertFlags {
  checkpoint::ConvertJob job;
  std::string form, dtype = "f32", task = "auto";
  bool no_slots = false, json = false;
  double shard_mb = 5000;
};

constexpr const char* kOnnx = "onnx";

constexpr NamedValues<checkpoint::OnnxTask, 3> kOnnxTasks{
    {{"auto", checkpoint::OnnxTask::automatic},
     {"fill-mask", checkpoint::OnnxTask::fill_mask},
     {"feature-extraction", checkpoint::OnnxTask::feature_extraction}}};

// Returns the Hugging Face folder with the model for the task, or nullopt if `path` is not one. For
// an ELECTRA, returns the generator for `fill_mask` and else the discriminator, or the only one
// present.
std::optional<std::string> hugging_face_part(const std::string& path, checkpoint::OnnxTask task) {
  const char *first = "discriminator", *second = "generator";
  if (task == checkpoint::OnnxTask::fill_mask) std::swap(first, second);
  for (const std::string& folder : {path, io::join_path(path, first), io::join_path(path, second)})
    if (io::exists(io::join_path(folder, "config.json"))) return folder;
  return std::nullopt;
}

// Writes an ONNX folder. It needs the files of a Hugging Face folder next to the ONNX files, so any
// other form of the model is converted to one first.
checkpoint::OnnxModel make_onnx_folder(const ConvertFlags& f, checkpoint::OnnxTask task) {
  const std::string from = checkpoint::exported_of(f.job.from);
  if (const auto folder = hugging_face_part(from, task))
    return checkpoint::write_onnx_folder(*folder, f.job.to, task);
  const std::string id = str(from, " ", ::getpid());
  data::WorkFolder work(data::temporary_work_folder("onnx", id));
  work.begin({{"onnx", id}});
  work.remove_at_signal();
  const std::string folder = work.file("hf");
  checkpoint::convert_checkpoint(
      {.from = from,
       .to = folder,
       .form = checkpoint::ModelForm::hugging_face,
       .averages = checkpoint::has_averages(checkpoint::open_stored_model(from, "convert").tensors),
       .config = f.job.config,
       .vocab = f.job.vocab});
  checkpoint::OnnxModel made =
      checkpoint::write_onnx_folder(hugging_face_part(folder, task).value(), f.job.to, task);
  made.from = from;
  return made;
}

OrderedJson run_onnx(const ConvertFlags& f, const CLI::App& command) {
  for (const char* flag : {"--dtype", "--no-slots", "--averages", "--lower-case", "--shard-mb"})
    if (command.count(flag) > 0)
      throw UsageError(
          str("convert: ", flag, ": cannot be used with an ONNX file, which holds the ",
              "moving averages of the weights if there are any, else the weights"),
          str("remove ", flag));
  const checkpoint::OnnxTask task = choose_of("--task", f.task, kOnnxTasks);
  const bool is_one_file = f.job.to.ends_with(".onnx");
  for (const char* flag : {"--config", "--vocab"})
    if (command.count(flag) > 0)
      if (is_one_file || hugging_face_part(checkpoint::exported_of(f.job.from), task))
        throw UsageError(
            str("convert: ", flag, ": cannot be used with ",
                is_one_file ? "a single ONNX file" : "a Hugging Face folder as its source",
                ", since the model has its own configuration and vocabulary"),
            str("remove ", flag));
  const checkpoint::OnnxModel done = is_one_file
                                         ? checkpoint::write_onnx_model(f.job.from, f.job.to, task)
                                         : make_onnx_folder(f, task);
  log_info("convert: {} -> {} (ONNX, {}): {}", done.from, f.job.to, done.task,
           bytes_text(static_cast<double>(done.bytes)));
  return {{"from", done.from}, {"path", f.job.to},    {"form", kOnnx},
          {"task", done.task}, {"files", done.files}, {"bytes", done.bytes}};
}

OrderedJson run_convert(ConvertFlags& f, const CLI::App& command) {
  if (f.form == kOnnx || (f.form.empty() && f.job.to.ends_with(".onnx")))
    return run_onnx(f, command);
  static const std::map<std::string, checkpoint::ModelForm> kForms{
      {"smelt", checkpoint::ModelForm::smelt},
      {"tf", checkpoint::ModelForm::tensorflow},
      {"hf", checkpoint::ModelForm::hugging_face}};
  static const std::map<std::string, compiler::DType> kDTypes{{"f32", compiler::DType::f32},
                                                              {"bf16", compiler::DType::bf16},
                                                              {"f16", compiler::DType::f16}};
  if (!f.form.empty()) f.job.form = kForms.at(f.form);
  f.job.dtype = kDTypes.at(f.dtype);
  f.job.slots = !f.no_slots;
  f.job.shard_bytes = static_cast<std::uint64_t>(f.shard_mb * 1e6);
  const checkpoint::Converted done = checkpoint::convert_checkpoint(f.job);
  for (const std::string& what : done.left_out) log_info("skipped: {}", what);
  log_info("convert: {} ({}, step {}) -> {} ({}): {} parameters, {} slots", done.where_from,
           checkpoint::name(done.from), done.step, done.where_to, checkpoint::name(done.to),
           done.parameters, done.slots);
  return {{"from", done.where_from},           {"path", done.where_to},
          {"form", checkpoint::name(done.to)}, {"step", done.step},
          {"parameters", done.parameters},     {"slots", done.slots},
          {"left_out", done.left_out}};
}

void add_form_options(CLI::App& command, ConvertFlags& f) {
  command
      .add_option("--to", f.form,
                  "smelt, tf, hf or onnx (a file NAME.onnx, or a new folder with the tokenizer); "
                  "default: from the name, *.ckpt*, checkpoint-<step> or *.onnx")
      ->check(CLI::IsMember({"smelt", "tf", "hf", kOnnx}));
  command
      .add_option("--task", f.task,
                  "task of an ONNX model: auto (a fine-tuned head, else the masked-LM head, else "
                  "the encoder), "
                  "fill-mask or feature-extraction (last_hidden_state)")
      ->check(CLI::IsMember({"auto", "fill-mask", "feature-extraction"}))
      ->capture_default_str();
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto f = std::make_shared<ConvertFlags>();
  auto* command = app.add_subcommand(
      "convert", "convert a model between smelt, TensorFlow, Hugging Face and ONNX");
  accept_hub_names(
      command
          ->add_option("from", f->job.from,
                       "a model folder, a checkpoint, a TensorFlow prefix (…/bert_model.ckpt), a "
                       "Hugging Face folder, or ORG/NAME on the Hugging Face Hub")
          ->required());
  command
      ->add_option(
          "to", f->job.to,
          "a model folder or …/checkpoint-<step>, a TensorFlow prefix, a new folder, or a file "
          "NAME.onnx")
      ->required();
  add_form_options(*command, *f);
  command->add_option("--dtype", f->dtype, "type of the written weights: f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  command->add_flag("--no-slots", f->no_slots, "do not write the optimizer's slots and the step");
  command->add_flag(
      "--averages", f->job.averages,
      "write the moving averages of the weights (train.ema_decay) instead of the weights");
  command->add_option(
      "--config", f->job.config,
      "bert_config.json or electra_config.json; default: in the checkpoint's folder");
  command->add_option("--vocab", f->job.vocab, "vocab.txt; default: in the checkpoint's folder");
  command->add_option(
      "--lower-case", f->job.lower_case,
      "true or false: whether the tokenizer lower-cases, if there is no tokenizer_config.json; "
      "default: inferred from its pieces");
  command
      ->add_option("--shard-mb", f->shard_mb,
                   "maximum size of the files in a Hugging Face folder, in megabytes")
      ->check(number_from(0.001, 1e9))
      ->capture_default_str();
  add_json_flag(*command, f->json);
  command->callback(
      [f, command] { print_result(f->json, [&] { return run_convert(*f, *command); }); });
}

}  // namespace smelt::cli
