#include "cli/compat/electra_ask.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/compat/electra_hparams.h"
#include "cli/options/answers.h"
#include "cli/options/form_flags.h"
#include "cli/options/text_flags.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/objectives/electra_model.h"
#include "pipeline/objectives/objective_registry.h"
#include "pipeline/objectives/pretrained_model.h"
#include "pjrt/hardware.h"

namespace smelt::cli {
namespace {

struct AskFlags {
  std::string data_dir, model_name, hparams, device = "cpu", precision = "f32";
  text::TokenizerFlags tokenizer;
};

// Returns the hyperparameters that the run stored with its checkpoints. Paths that no longer exist
// are replaced by those in the folder.
std::string saved_hparams(const AskFlags& f, const std::string& command) {
  const std::string model_dir =
      parse_electra_hparams("{}", f.data_dir, f.model_name).hparams.model_dir;
  const std::string path = saved_hparams_path(model_dir);
  if (!io::exists(path))
    throw UsageError(str(command, ": ", path, " does not exist: the folder has no run"),
                     "correct --data-dir and --model-name, or pass the run's --hparams");
  auto saved = Json::parse_or_discard(io::read_file(path, io::kSmallFileBytes));
  if (!saved.is_object())
    throw UsageError(str(command, ": ", path, " is not a JSON object"), "pass the run's --hparams");
  saved["model_dir"] = model_dir;
  const Json vocab = saved.value("vocab_file", Json());
  if (vocab.is_string() && !io::exists(vocab.get<std::string>())) saved.erase("vocab_file");
  return saved.dump();
}

class ComparedModel {
 public:
  ComparedModel(const AskFlags& f, const std::string& command)
      : flags_(f),
        hparams_(parse_electra_hparams(f.hparams.empty() ? saved_hparams(f, command) : f.hparams,
                                       f.data_dir, f.model_name)
                     .hparams),
        task_(electra_task_settings(hparams_)) {
    task_.ids = pipeline::special_ids(electra_vocabulary(hparams_, task_.model.vocab_size));
  }

  pipeline::PretrainedModel load(pipeline::InferenceTask task) const {
    pipeline::LoadOptions options{.task = task};
    options.device = pjrt::chosen_device(flags_.device);
    options.precision = flags_.precision;
    return pipeline::PretrainedModel::of_run(
        {.type = &pipeline::objective_type("electra", "model"),
         .settings = model::electra_task(task_).settings,
         .model_dir = hparams_.model_dir,
         .vocab = hparams_.vocab_file,
         .tokenizer = text::load_tokenizer_config(hparams_.vocab_file) ? flags_.tokenizer
                                                                       : runs_tokenizer()},
        options);
  }

  void export_to(const std::string& folder) const {
    pipeline::export_electra({.task = task_,
                              .model_dir = hparams_.model_dir,
                              .vocab = hparams_.vocab_file,
                              .tokenizer = text::options_of(runs_tokenizer()),
                              .folder = folder});
  }

 private:
  // Returns the run's tokenizer settings, for vocabularies that are stored without any.
  text::TokenizerFlags runs_tokenizer() const {
    text::TokenizerFlags flags = flags_.tokenizer;
    flags.lower_case = flags.lower_case.value_or(hparams_.do_lower_case);
    flags.control = text::ControlCharacters::electra;
    return flags;
  }

  const AskFlags& flags_;
  ElectraHparams hparams_;
  model::ElectraTask task_;
};

std::shared_ptr<AskFlags> add_model_flags(CLI::App& command) {
  auto f = std::make_shared<AskFlags>();
  command.add_option("--data-dir", f->data_dir, "folder with vocab.txt and models/")->required();
  command.add_option("--model-name", f->model_name, "the model's folder in models/")->required();
  command.add_option("--hparams", f->hparams,
                     "hyperparameters of the run; default: those stored in its folder");
  add_tokenizer_flags(command, f->tokenizer);
  return f;
}

std::shared_ptr<AskFlags> add_ask_flags(CLI::App& command) {
  auto f = add_model_flags(command);
  add_device_flag(command, f->device);
  command.add_option("--precision", f->precision, "f32 or f32_exact")
      ->check(CLI::IsMember({"f32", "f32_exact"}))
      ->capture_default_str();
  return f;
}

}  // namespace

void add_electra_ask(CLI::App& electra) {
  auto* detect = electra.add_subcommand(
      "detect", "run the discriminator: find tokens of a text that are probably replaced");
  const auto detect_flags = add_ask_flags(*detect);
  const auto detected = add_detect_options(*detect);
  detect->callback([detect_flags, detected] {
    pipeline::PretrainedModel model =
        ComparedModel(*detect_flags, "detect").load(pipeline::InferenceTask::detect);
    print_detected(*detected, [&](const auto& texts) { return model.detect(texts); });
  });

  auto* fill = electra.add_subcommand("fill", "run the generator: predict the words for [MASK]");
  const auto fill_flags = add_ask_flags(*fill);
  const auto filled = add_fill_options(*fill);
  fill->callback([fill_flags, filled] {
    pipeline::PretrainedModel model =
        ComparedModel(*fill_flags, "fill").load(pipeline::InferenceTask::fill_mask);
    print_filled(*filled, [&](const auto& texts) { return model.fill_mask(texts, filled->top); });
  });

  auto* to_folders = electra.add_subcommand(
      "export", "export discriminator and generator as Hugging Face folders");
  const auto export_flags = add_model_flags(*to_folders);
  auto out = std::make_shared<std::string>();
  to_folders->add_option("--out", *out, "folder to create, with discriminator/ and generator/")
      ->required();
  to_folders->callback(
      [export_flags, out] { ComparedModel(*export_flags, "export").export_to(*out); });
}

}  // namespace smelt::cli
