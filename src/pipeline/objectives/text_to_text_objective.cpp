// model.type: text_to_text.

#include "base/error.h"
#include "base/log.h"
#include "base/plural.h"
#include "checkpoint/interop/hugging_face_t5.h"
#include "checkpoint/storage/checkpoint.h"
#include "checkpoint/storage/lazy_files.h"
#include "data/preprocess/text_to_text_examples.h"
#include "execution/train_state/resume.h"
#include "io/filesystem/file.h"
#include "io/formats/config.h"
#include "model/tasks/t5_task.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/config/train_job.h"
#include "pipeline/objectives/objectives.h"
#include "pipeline/objectives/row_source.h"
#include "pipeline/objectives/t5_questions.h"
#include "pipeline/objectives/t5_source.h"
#include "pipeline/objectives/text_predictions.h"

namespace smelt::pipeline {
namespace {

struct AnswerModel {
  std::string like;
  double dropout = 0.1;
  model::LossOver loss_over = model::LossOver::tokens;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, AnswerModel>
void visit_fields(C& c, Visitor&& visit) {
  visit("like", c.like,
        "folder of a T5 model whose layer sizes the model uses; empty: train.init_from");
  visit("dropout", c.dropout,
        "dropout during fine-tuning, independent of the dropout in pre-training");
  visit("loss_over", c.loss_over,
        "tokens: average the loss over the target tokens of a batch (t5); examples: average over "
        "its examples the sum of each one's token losses (ttt)");
}

struct AnswerData {
  std::string train, validation, test;
  std::string format = "auto", source = "source", target = "target", prefix;
  std::int64_t inputs_length = 128, targets_length = 32;
  double validation_share = 0.1;
  std::int64_t seed = 12345;
  double max_bad = 0.01;
};

template <class C, class Visitor>
  requires std::same_as<std::remove_const_t<C>, AnswerData>
void visit_fields(C& c, Visitor&& visit) {
  visit("train", c.train,
        "texts and answers to train on: files or patterns of JSONL, TSV, CSV or Parquet, comma "
        "separated; or a command that prints JSONL, '!./my_dataset.py train'");
  visit("validation", c.validation,
        "rows to evaluate on; empty: data.validation_share of data.train is held out");
  visit("test", c.test, "rows for eval.split test; empty: none");
  visit("format", c.format,
        "file format: jsonl, tsv, tsv-quoted, csv or parquet; auto: from the name of each file");
  visit("source", c.source, "column of the text");
  visit("target", c.target, "column of the answer");
  visit("prefix", c.prefix, "text to put before each input, such as 'summarize: '");
  visit("inputs_length", c.inputs_length,
        "maximum length of an input in tokens, including end of sequence; longer inputs are "
        "truncated");
  visit("targets_length", c.targets_length,
        "maximum length of an answer in tokens, including end of sequence");
  visit("validation_share", c.validation_share,
        "share of the rows to hold out if data.validation is empty");
  visit("seed", c.seed, "random seed of the split into training and held-out rows");
  visit("max_bad", c.max_bad, "maximum share of unreadable rows, which are skipped");
}

AnswerData answer_data(const Recipe& r) { return row_data<AnswerData>(r); }

// Returns the T5 of the recipe. A run that has begun reads it from its state.
PretrainedT5 resolved_t5(const Recipe& r) {
  const auto model = io::parse_config<AnswerModel>(r.model, "model");
  PretrainedT5 out;
  if (const auto begun = state_to_resume(r))
    out = t5_of_settings(begun->state, begun->path);
  else if (!model.like.empty())
    out = t5_in(model.like, "model.like");
  else if (!r.train.init_from.empty())
    out = t5_in(r.train.init_from, "train.init_from");
  else
    throw UsageError("train.init_from: no pre-trained model to fine-tune",
                     "name the folder of a T5 with --set train.init_from=…; to train from random "
                     "weights, set model.like and vocab.file");
  out.model.dropout_rate = model.dropout;
  return out;
}

model::Task answer_task(const Recipe& r) {
  const AnswerData data = answer_data(r);
  const PretrainedT5 pretrained = resolved_t5(r);
  model::Task task = model::t5_task(
      {.model = pretrained.model,
       .settings = {.z_loss = 0,
                    .loss_over = io::parse_config<AnswerModel>(r.model, "model").loss_over},
       .inputs_length = data.inputs_length,
       .targets_length = data.targets_length});
  task.record_kind = "text_to_text";
  if (pretrained.extra_ids) task.settings["extra_ids"] = *pretrained.extra_ids;
  if (!data.prefix.empty()) task.settings["prefix"] = data.prefix;
  task.described = {{"inputs_length", data.inputs_length},
                    {"targets_length", data.targets_length},
                    {"prefix", data.prefix}};
  return task;
}

void check_generation(const Recipe& r) {
  const RecipeChecks checks(r);
  const AnswerData data = answer_data(r);
  for (const char* field : {"data.inputs_length", "data.targets_length"}) checks.at_least(field, 2);
  check_validation_share(r);
  checks.within("data.max_bad", 0, 1);
  checks.within("model.dropout", 0, 0.99);
  checks.one_of("data.format", {"auto", "jsonl", "tsv", "tsv-quoted", "csv", "parquet"});
  check_row_commands(r);
  checks.require(!data.target.empty(), {"data.target"}, "data.target is empty",
                 "name the column of the answer");
  checks.require(
      !r.train.init_from.empty() || !r.vocab.file.empty() || has_begun(r) ||
          r.model.value("like", "").empty(),
      {"model.like", "vocab.file"}, "model.like needs vocab.file",
      "model.like only determines sizes: name the vocabulary with --set vocab.file=…/spiece.model");
  model::Task task;
  checks.accepts({"model.like", "train.init_from"}, [&] { task = answer_task(r); });
  check_program(r, task);
}

std::vector<std::string> answer_files(const Recipe& r) {
  if (answer_data(r).train.empty())
    throw UsageError("data.train: no texts with answers",
                     "give files of JSONL, TSV, CSV or Parquet with --set data.train=…");
  return row_files(r);
}

// Returns the generation job of the fine-tuned model. Its sentinels have the same ids as in the
// pretrained model.
execution::GenerateJob answer_job(const Recipe& r) {
  const PretrainedT5 pretrained = resolved_t5(r);
  execution::GenerateJob job = t5_generate_job(pretrained.model, vocabulary_path(r),
                                               tokenizer_flags(r), pretrained.extra_ids);
  job.prefix = answer_data(r).prefix;
  return job;
}

data::LabelledFiles answer_rows(const AnswerData& data, const std::string& input) {
  return {.input = input,
          .format = text::parse_file_format(data.format, "data.format"),
          .text = data.source,
          .label = data.target,
          .limits = {.max_bad = data.max_bad, .held_to = "data.max_bad"}};
}

std::uint64_t write_answers(const Recipe& r, const RowSource& source, const std::string& output) {
  const AnswerData data = answer_data(r);
  const execution::GenerateJob pieces = answer_job(r);
  data::TextToTextExamplesJob job{.rows = answer_rows(data, source.input),
                                  .what = source.what,
                                  .split = source.split,
                                  .prefix = data.prefix,
                                  .encode = pieces.encode,
                                  .inputs_length = data.inputs_length,
                                  .targets_length = data.targets_length,
                                  .unknown = pieces.unknown,
                                  .vocab = RecipePaths(r).vocab,
                                  .output = output,
                                  .keeps_rows = output != RecipePaths(r).train_output};
  const data::TextToTextSummary s = data::write_text_to_text(job);
  log_info("data: {} of {}; {} truncated, {} of them with answers longer than {} tokens",
           counted(s.examples, "example"), source.what, s.cut, s.cut_targets, data.targets_length);
  if (s.unknown_texts + s.unknown_targets > 0)
    log_warning(
        "data: {} and {} of {} contain characters without a piece in the vocabulary: the model "
        "reads them as unknown and cannot generate these answers",
        counted(s.unknown_texts, "text"), counted(s.unknown_targets, "answer"), source.what);
  return s.examples;
}

std::uint64_t write_answer_rows(const Recipe& r, ExampleSet set, const std::string& file) {
  const AnswerData data = answer_data(r);
  const RowSource source = row_source(data, set);
  data::TextToTextExamplesJob job;
  job.rows = answer_rows(data, source.input);
  job.what = source.what;
  job.split = source.split;
  job.output = file;
  return data::write_text_to_text_rows(job);
}

void check_answer_rows(const Recipe& r) {
  const AnswerData data = answer_data(r);
  each_row_source(r, data, [&](const RowSource& source) {
    data::check_rows(answer_rows(data, source.input), source.what,
                     "give rows of texts and answers");
  });
}

std::uint64_t make_answers(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const RowSource source = row_source(answer_data(r), set);
  if (set == ExampleSet::test) return write_answers(r, source, paths.test_records);
  return write_answers(r, source,
                       set == ExampleSet::train ? paths.train_output : paths.heldout_output);
}

TextsToAnswer texts_to_answer(const Recipe& r) {
  const AnswerData data = answer_data(r);
  return {.features = answer_task(r).features,
          .inputs_length = data.inputs_length,
          .targets_length = data.targets_length};
}

void export_answers(const Recipe& r, const std::string& folder) {
  const RecipePaths paths(r);
  const PretrainedT5 pretrained = resolved_t5(r);
  const checkpoint::Checkpoint checkpoint = checkpoint::parameters_of(
      execution::load_trained_model("export", paths.trained, io::config_json(pretrained.model),
                                    paths.vocab, r.eval.averaged)
          .checkpoint);
  checkpoint::export_hugging_face_t5(
      folder, pretrained.model, paths.vocab, pretrained.extra_ids,
      checkpoint::lazy_tensors(checkpoint.tensors),
      {.earlier = folder == paths.hugging_face ? io::OutputDirectory::Earlier::replaced
                                               : io::OutputDirectory::Earlier::refused},
      answer_data(r).prefix);
  log_info("export: {} contains step {} for transformers' T5ForConditionalGeneration", folder,
           checkpoint.step);
}

std::map<std::string, std::string> answer_files_of_model(const Recipe& r) {
  const PretrainedT5 pretrained = resolved_t5(r);
  Json config = io::config_json(pretrained.model);
  checkpoint::add_t5_fields({.extra_ids = pretrained.extra_ids, .prefix = answer_data(r).prefix},
                            config);
  return {{"t5_config.json", config.dump(2) + "\n"}};
}

}  // namespace

ObjectiveType text_to_text_objective() {
  ObjectiveType type;
  type.name = "text_to_text";
  type.help = "fine-tunes a T5 to generate texts from texts";
  type.model = io::config_fields<AnswerModel>();
  type.data = io::config_fields<AnswerData>();
  type.reads = Reads::rows;
  type.rows = answer_files;
  type.check_rows = check_answer_rows;
  type.check = check_generation;
  type.sentencepiece = true;
  type.special_pieces = {};
  type.make_examples = make_answers;
  type.task = answer_task;
  type.teacher = t5_teacher_of;
  type.model_files = answer_files_of_model;
  type.write_predictions = [](const Recipe& r) {
    return write_text_predictions(r, texts_to_answer(r));
  };
  type.generated_measures = {"exact_match", "bleu"};
  type.state_measures = [](const Recipe& r, std::shared_ptr<const pjrt::Client> client) {
    return answer_measures(r, texts_to_answer(r), std::move(client), answer_job(r));
  };
  type.write_rows = write_answer_rows;
  type.export_folder = export_answers;
  type.inference.generate = stored_t5_job;
  return type;
}

}  // namespace smelt::pipeline
