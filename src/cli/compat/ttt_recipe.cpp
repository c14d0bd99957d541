#include "cli/compat/ttt_recipe.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/recipe.h"
#include "pipeline/objectives/load_recipe.h"

namespace smelt::cli {
namespace {

// Models that the original downloads, and the Hugging Face repository of each.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kModels{
    {{"bert-base-uncased", "google-bert/bert-base-uncased"},
     {"bert-large-uncased", "google-bert/bert-large-uncased"},
     {"google/electra-base-discriminator", "google/electra-base-discriminator"},
     {"google/electra-large-discriminator", "google/electra-large-discriminator"},
     {"t5-small", "google-t5/t5-small"},
     {"t5-base", "google-t5/t5-base"},
     {"t5-large", "google-t5/t5-large"}}};
constexpr std::array<std::string_view, 3> kOtherModels{"distilbert-base-cased", "albert-base-v2",
                                                       "roberta-base"};

bool is_classification(const TttFlags& f) { return f.task == "single-label-cls"; }

void check_model(const TttFlags& f) {
  if (std::ranges::find(kOtherModels, f.model_select) != kOtherModels.end())
    throw UsageError(
        str("--model_select ", f.model_select, ": only BERT, ELECTRA and T5 are supported"),
        "use bert-base-uncased, or the folder of another BERT, ELECTRA or T5");
  if (io::is_folder(f.model_select)) return;
  for (const auto& [name, source] : kModels)
    if (name == f.model_select)
      throw UsageError(str("--model_select ", name, ": folder not found"),
                       str("--model_select hf://", source,
                           " uses it from the Hugging Face Hub; or name another model's folder"));
  throw UsageError(str("--model_select ", f.model_select, ": folder not found"),
                   "name the folder of a BERT, an ELECTRA or a T5");
}

void check_task(const TttFlags& f) {
  const bool is_t5 = checkpoint::is_encoder_decoder(
      checkpoint::open_stored_model(f.model_select, "--model_select").tensors);
  if (is_t5 == is_classification(f))
    throw UsageError(str("--task ", f.task, " with ", f.model_select, ", which is ",
                         is_t5 ? "a T5" : "not a T5"),
                     is_t5 ? "for a T5 use t2t, translation or pretrain"
                           : "for a BERT or an ELECTRA use single-label-cls");
}

std::string data_file(const TttFlags& f, const std::string& part) {
  return io::join_path(f.data_path, part + ".json");
}

void check_data(const TttFlags& f) {
  if (!f.dataset_name.empty())
    throw UsageError(str("--dataset_name ", f.dataset_name, ": smelt does not download datasets"),
                     "put train.json, val.json and test.json, with one JSON object per line, into "
                     "--data_path");
  if (f.do_train && !io::exists(data_file(f, "train")))
    throw UsageError(str("--data_path ", f.data_path, ": has no train.json"),
                     str("write one line per example: {\"", f.source_field_name, "\": \"…\", \"",
                         f.target_field_name, "\": \"…\"}"));
  if (f.do_eval && f.task != "pretrain" && !io::exists(data_file(f, "val")))
    throw UsageError(str("--do_eval: ", data_file(f, "val"), " does not exist"),
                     "write the evaluation examples there, or remove --do_eval");
  if (f.do_test && !io::exists(data_file(f, "test")))
    throw UsageError(str("--do_test: ", data_file(f, "test"), " does not exist"),
                     "write the test examples there, or remove --do_test");
}

void check_flags(const TttFlags& f) {
  if (!f.do_train && !f.do_eval && !f.do_test)
    throw UsageError("ttt: nothing to do", "add --do_train, --do_eval or --do_test");
  const bool acc_or_loss = f.eval_on == "acc" || f.eval_on == "loss";
  const bool answers = f.task == "translation" || f.task == "t2t";
  if (!acc_or_loss && !(f.eval_on == "bleu" && answers))
    throw UsageError(str("--eval_on ", f.eval_on, " with --task ", f.task),
                     "use acc or loss, or bleu for t2t and translation");
  if (f.log_steps == 0)
    throw UsageError("--log_steps 0: must be a positive number of steps, or -1",
                     "set the number of steps between evaluations, or -1 for one per epoch");
  if (f.ck_index_select != 0 && f.ck_index_select != -1)
    throw UsageError(str("--ck_index_select ", f.ck_index_select,
                         ": must be 0 (the best checkpoint) or -1 (the newest)"),
                     "use 0 or -1");
}

pipeline::FieldValues schedule_fields(const TttFlags& f) {
  // With a ratio of 0, the recipe still needs an explicit number of warm-up steps.
  const pipeline::FieldValues none{{"train.schedule.warmup_steps", "0"}},
      warmup = f.warmup_ratio > 0
                   ? pipeline::FieldValues{{"train.schedule.warmup_ratio", str(f.warmup_ratio)}}
                   : none;
  const auto with = [](const char* schedule, pipeline::FieldValues fields) {
    fields["train.schedule.type"] = schedule;
    return fields;
  };
  const bool never_falls = f.scheduler == "constantlinear" && f.warmup_ratio >= 1;
  if (f.scheduler == "constant" || never_falls) return with("constant", none);
  if (f.scheduler == "warmupconstant") return with("constant", warmup);
  if (f.scheduler == "warmuplinear") return with("linear", warmup);
  return {{"train.schedule.type", "wsd"},
          {"train.schedule.warmup_steps", "0"},
          {"train.schedule.decay_ratio", str(1 - f.warmup_ratio)}};
}

// Returns the recipe fields for --task pretrain: spans of each text are masked as by the original's
// iid_denoise_text, and the model has the sizes of the model folder.
pipeline::FieldValues pretraining_fields(const TttFlags& f) {
  const checkpoint::StoredModel m = checkpoint::open_stored_model(f.model_select, "--model_select");
  pipeline::FieldValues out{
      {"text.input", data_file(f, "train")},
      {"text.format", "jsonl"},
      {"text.field", f.source_field_name},
      {"vocab.type", "unigram"},
      {"vocab.file",
       m.vocab.empty() ? io::join_path(f.model_select, checkpoint::kT5VocabularyFile) : m.vocab},
      {"data.objective", "iid_denoise_text"},
      {"data.documents", "cut"},
      {"data.inputs_length", str(f.max_src_length)},
      {"data.targets_length", str(f.max_tgt_length)},
      {"model.loss_over", "examples"},
      {"model.z_loss", "0"}};
  if (m.t5.extra_ids) out["data.extra_ids"] = str(*m.t5.extra_ids);
  for (const auto& [name, value] : m.config.items())
    for (const pipeline::RecipeField& field : pipeline::recipe_fields("t5"))
      if (field.path == "model." + name && name != "vocab_size")  // set from the vocabulary
        out[field.path] = value.is_string() ? value.get<std::string>() : value.dump();
  return out;
}

pipeline::FieldValues data_fields(const TttFlags& f) {
  pipeline::FieldValues out{{"data.train", data_file(f, "train")}, {"data.format", "jsonl"}};
  if (io::exists(data_file(f, "val")))
    out["data.validation"] = data_file(f, "val");
  else
    out["data.validation_share"] = "0";
  if (io::exists(data_file(f, "test"))) out["data.test"] = data_file(f, "test");
  if (is_classification(f)) {
    out["data.text"] = f.source_field_name;
    out["data.label"] = f.target_field_name;
    out["data.seq_length"] = str(f.max_seq_length);
  } else {
    out["data.source"] = f.source_field_name;
    out["data.target"] = f.target_field_name;
    out["data.inputs_length"] = str(f.max_src_length);
    out["data.targets_length"] = str(f.max_tgt_length);
    out["model.loss_over"] = "examples";
  }
  return out;
}

// Returns the metric that selects the best checkpoint. For a T5, acc is the exact match of
// generated answers, so each evaluation generates answers.
std::string best_measure(const TttFlags& f) {
  if (f.task == "pretrain") return "word_loss";
  const bool by_loss = f.eval_on == "loss";
  if (is_classification(f)) return by_loss ? "classification_loss" : "accuracy";
  return by_loss ? "target_loss" : f.eval_on == "bleu" ? "bleu" : "exact_match";
}

// Returns the fields that keep the best checkpoint and stop the run early.
pipeline::FieldValues evaluation_fields(const TttFlags& f) {
  pipeline::FieldValues out{{"eval.batch_size", str(f.eval_batch_size)}};
  if (!f.do_train || !f.do_eval) return out;
  out["train.checkpoint.best_metric"] = best_measure(f);
  out["train.early_stopping.patience"] = str(f.patience);
  if (f.log_steps == -1)
    out["eval.every_epochs"] = "1";
  else
    out["eval.every"] = out["train.checkpoint.save_interval_steps"] = str(f.log_steps);
  if (f.ck_index_select == 0) out["eval.best"] = "true";
  return out;
}

std::string with_dashes(std::string path) {
  std::ranges::replace(path, '/', '-');
  return path;
}

}  // namespace

// Returns the run's folder. As in the original, the first folder of "data/glue/sst2" is dropped.
std::string ttt_output(const TttFlags& f) {
  if (!f.output_path.empty()) return f.output_path;
  const auto slash = f.data_path.find('/');
  const std::string data = slash == std::string::npos ? f.data_path : f.data_path.substr(slash + 1);
  return io::join_path("tmp",
                       str(io::path_name(f.model_select), "_", f.task, "_", with_dashes(data)));
}

pipeline::FieldValues ttt_recipe(const TttFlags& f, const std::string& device,
                                 std::int64_t devices) {
  check_flags(f);
  check_model(f);
  check_task(f);
  check_data(f);
  pipeline::FieldValues out{{"out", ttt_output(f)},
                            {"model.type", is_classification(f) ? "classify" : "text_to_text"},
                            {"train.init_from", f.model_select},
                            {"train.device", device},
                            {"train.devices", str(devices)},
                            {"train.batch_size", str(f.per_device_train_batch_size * devices)},
                            {"train.epochs", str(f.num_epochs_train)},
                            {"train.optimizer.type", "optax_adam"},
                            {"train.optimizer.learning_rate", str(f.lr)},
                            {"train.seed", str(f.seed)},
                            {"train.checkpoint.max_to_keep", str(f.keep_ck_num)}};
  const bool pretrains = f.task == "pretrain";
  if (pretrains) out["model.type"] = "t5";
  for (const pipeline::FieldValues& part :
       {schedule_fields(f), pretrains ? pretraining_fields(f) : data_fields(f),
        evaluation_fields(f)})
    out.insert(part.begin(), part.end());
  return out;
}

OrderedJson ttt_arguments(const TttFlags& f, std::int64_t devices) {
  return {{"model_select", f.model_select},
          {"data_path", f.data_path},
          {"dataset_name", f.dataset_name},
          {"task", f.task},
          {"per_device_train_batch_size", f.per_device_train_batch_size},
          {"eval_batch_size", f.eval_batch_size},
          {"num_epochs_train", f.num_epochs_train},
          {"log_steps", f.log_steps},
          {"max_seq_length", f.max_seq_length},
          {"max_src_length", f.max_src_length},
          {"max_tgt_length", f.max_tgt_length},
          {"source_field_name", f.source_field_name},
          {"target_field_name", f.target_field_name},
          {"lr", f.lr},
          {"warmup_ratio", f.warmup_ratio},
          {"patience", f.patience},
          {"scheduler", f.scheduler},
          {"seed", f.seed},
          {"eval_on", f.eval_on},
          {"keep_ck_num", f.keep_ck_num},
          {"ck_index_select", f.ck_index_select},
          {"do_train", f.do_train},
          {"do_eval", f.do_eval},
          {"do_test", f.do_test},
          {"use_gpu", f.use_gpu},
          {"use_tpu", f.use_tpu},
          {"use_tb", f.use_tb},
          {"tpu_address", f.tpu_address},
          {"default_store", f.default_store},
          {"output_folder", io::path_name(ttt_output(f))},
          {"output_path", ttt_output(f)},
          {"num_replicas_in_sync", devices}};
}

}  // namespace smelt::cli
