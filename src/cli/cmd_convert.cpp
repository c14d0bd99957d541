#include "cli/cmd_convert.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "checkpoint/convert.h"
#include "checkpoint/onnx_model.h"
#include "console/number_check.h"

namespace smelt {
namespace {

struct ConvertFlags {
  ConvertJob job;
  std::string form, dtype = "f32";
  bool no_slots = false;
  double shard_mb = 5000;
};

constexpr const char* kOnnx = "onnx";

// Only what a file of ONNX can have.
void run_onnx(const ConvertFlags& f, const CLI::App& command) {
  for (const char* flag :
       {"--dtype", "--no-slots", "--averages", "--config", "--vocab", "--lower-case", "--shard-mb"})
    if (command.count(flag) > 0)
      throw UsageError(
          str("convert: ", flag, ": cannot be used with an ONNX file, which holds the ",
              "moving averages of the weights if there are any, else the weights"),
          str("leave ", flag, " out"));
  const OnnxModel done = write_onnx_model(f.job.from, f.job.to);
  log_info("convert: {} is now {} (ONNX, {}): {}", done.from, f.job.to, done.problem,
           bytes_text(static_cast<double>(done.bytes)));
}

void run_convert(ConvertFlags& f, const CLI::App& command) {
  if (f.form == kOnnx || (f.form.empty() && f.job.to.ends_with(".onnx")))
    return run_onnx(f, command);
  static const std::map<std::string, ModelForm> kForms{
      {"smelt", ModelForm::smelt}, {"tf", ModelForm::tensorflow}, {"hf", ModelForm::hugging_face}};
  static const std::map<std::string, DType> kDTypes{
      {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}};
  if (!f.form.empty()) f.job.form = kForms.at(f.form);
  f.job.dtype = kDTypes.at(f.dtype);
  f.job.slots = !f.no_slots;
  f.job.shard_bytes = static_cast<std::uint64_t>(f.shard_mb * 1e6);
  const Converted done = convert_checkpoint(f.job);
  for (const std::string& what : done.left_out) log_info("left out: {}", what);
  log_info("convert: {} ({}, step {}) is now {} ({}): {} parameters, {} slots", done.where_from,
           name(done.from), done.step, done.where_to, name(done.to), done.parameters, done.slots);
}

}  // namespace

void add_convert_command(CLI::App& app) {
  auto f = std::make_shared<ConvertFlags>();
  auto* command = app.add_subcommand(
      "convert", "a checkpoint from one form to another: smelt's, TensorFlow's, Hugging Face's");
  command
      ->add_option("from", f->job.from,
                   "a model folder, a checkpoint, a TensorFlow prefix (…/bert_model.ckpt) or a "
                   "Hugging Face folder")
      ->required();
  command
      ->add_option(
          "to", f->job.to,
          "a model folder or …/checkpoint-<step>, a TensorFlow prefix, a new folder, or of a "
          "fine-tuned BERT or ELECTRA a file NAME.onnx")
      ->required();
  command
      ->add_option("--to", f->form,
                   "smelt, tf, hf or onnx; default: by the name, *.ckpt*, checkpoint-<step> or "
                   "*.onnx")
      ->check(CLI::IsMember({"smelt", "tf", "hf", kOnnx}));
  command->add_option("--dtype", f->dtype, "of what is written: f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  command->add_flag("--no-slots", f->no_slots, "leave the optimizer's slots and the step out");
  command->add_flag("--averages", f->job.averages,
                    "the weights' moving averages (train.ema_decay) instead of the weights");
  command->add_option("--config", f->job.config,
                      "bert_config.json or electra_config.json; default: beside the checkpoint");
  command->add_option("--vocab", f->job.vocab, "vocab.txt; default: beside the checkpoint");
  command->add_option("--lower-case", f->job.lower_case,
                      "true or false: of the vocabulary, where no tokenizer_config.json says it; "
                      "default: inferred from its pieces");
  command->add_option("--shard-mb", f->shard_mb, "megabytes of a Hugging Face folder's files")
      ->check(number_from(0.001, 1e9))
      ->capture_default_str();
  command->callback([f, command] { run_convert(*f, *command); });
}

}  // namespace smelt
