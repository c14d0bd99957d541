#include <CLI/CLI.hpp>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/model_option.h"
#include "cli/commands/predict_output.h"
#include "cli/options/number_check.h"
#include "cli/options/text_source.h"
#include "data/preprocess/labelled_rows.h"
#include "pipeline/compression/asked_rows.h"
#include "pipeline/objectives/classify_model.h"
#include "pipeline/objectives/glue_submission.h"

namespace smelt::cli {
namespace {

constexpr const char* kThreshold = "--no-answer-threshold";

// Returns "informative\t0.9312"; for word labels one line per word, "Rome\tB-LOC\t0.9312", and an
// empty line.
std::string row_text(const data::LabelledRow& row, const io::Labels& labels,
                     const std::vector<float>& numbers) {
  std::ostringstream out;
  if (labels.problem == io::Problem::token_labels) {
    const auto words = text::words_in(row.users_text());
    const OrderedJson words_and_labels =
        pipeline::words_json(labels, {words.begin(), words.end()}, numbers);
    for (std::size_t i = 0; i < words.size(); ++i) {
      const OrderedJson &label = words_and_labels["prediction"][i],
                        &sure = words_and_labels["probabilities"][i];
      out << words[i] << "\t" << (label.is_null() ? "" : label.get<std::string>()) << "\t"
          << std::setprecision(4) << std::fixed << (sure.is_null() ? 0 : sure.get<double>())
          << "\n";
    }
    return out.str();
  }
  out << std::setprecision(4) << std::fixed << execution::said_label(labels, numbers);
  if (labels.problem == io::Problem::single_label) out << "\t" << std::ranges::max(numbers);
  return out.str();
}

// Runs texts through a model in batches and writes the predictions in order.
class Predictions {
 public:
  Predictions(execution::Classifier classifier, const PredictFlags& flags)
      : classifier_(std::move(classifier)), flags_(flags), out_(flags) {}

  const io::Labels& labels() const { return classifier_.job().labels; }
  void add(data::LabelledRow row) {
    if (row.written_text.empty() && row.written_pair.empty()) data::compose_texts(row);
    waiting_.push_back(std::move(row));
    if (std::ssize(waiting_) == kBatchesAtOnce * flags_.options.batch_size) flush();
  }
  void flush() {
    out_.check_signal(done_, "text");
    if (waiting_.empty()) return;
    std::vector<execution::PairOfTexts> texts;
    for (const data::LabelledRow& row : waiting_) texts.push_back({row.text, row.pair});
    const auto numbers = classifier_.classify(texts);
    for (std::size_t i = 0; i < waiting_.size(); ++i) put(waiting_[i], numbers[i]);
    done_ += waiting_.size();
    waiting_.clear();
    out_.flush();
  }
  void finish() {
    flush();
    if (classifier_.cut() > 0)
      log_warning("predict: {} longer than the model's maximum of {} tokens: truncated",
                  counted(classifier_.cut(), "text is", "texts are"),
                  classifier_.job().most_tokens);
    classifier_.tokens().warn("predict", classifier_.tokenizer().vocabulary().origin());
    out_.commit();
  }

 private:
  void put(const data::LabelledRow& row, const std::vector<float>& numbers) {
    const io::Labels& labels = classifier_.job().labels;
    if (out_.is_json())
      return out_.line(
          pipeline::row_prediction_json(row, !flags_.columns.label.empty(), labels, numbers));
    out_.line(row_text(row, labels, numbers));
  }

  execution::Classifier classifier_;
  const PredictFlags& flags_;
  PredictionOutput out_;
  std::vector<data::LabelledRow> waiting_;
  std::uint64_t done_ = 0;
};

// Calls `give` with every row of --input. Throws UsageError for an unreadable row instead of
// skipping it.
void each_row(const PredictFlags& f, const io::Labels& labels,
              const std::function<void(data::LabelledRow)>& give) {
  if (text::format_of(f.input, text::parse_file_format(f.format)) == text::FileFormat::text) {
    each_text_of({.path = f.input, .format = f.format}, "predict",
                 [&](const std::string& text, const std::string&) {
                   give({.text = text, .pair = {}, .label = {}});
                 });
    return;
  }
  data::LabelledFiles files = f.columns;
  if (files.text.empty()) files.text = "text";
  files.input = f.input;
  files.format = text::parse_file_format(f.format);
  files.words = labels.problem == io::Problem::token_labels;
  files.lists = labels.problem == io::Problem::multi_label;
  files.known = labels.names;
  files.limits = {.strict = true};
  data::LabelledRows rows(files, "--input");
  for (data::LabelledRow row; rows.next(row);) give(row);
}

// Predicts the lines of standard input. Lines that are available together form a batch.
void converse(Predictions& predictions) {
  each_input_line(
      [&](std::string line) {
        predictions.add({.text = std::move(line), .pair = {}, .label = {}});
      },
      [&] { predictions.flush(); });
}

void check_flags(const ModelOption& model, const PredictFlags& f) {
  if (!f.input.empty() && !f.texts.empty())
    throw UsageError("predict: --text and --input cannot be combined", "remove one of the two");
  if (!f.pairs.empty() && f.pairs.size() != f.texts.size())
    throw UsageError(str("predict: ", f.pairs.size(), " --pair for ", f.texts.size(), " --text"),
                     "use one --pair for each --text, or none");
  for (const char* flag : {"--format", "--header", "--field", "--pair-field", "--label-field"})
    if (f.input.empty() && model.command->count(flag) > 0)
      throw UsageError(str("predict: ", flag, " without --input"),
                       "add --input FILE, or remove the flag");
}

// Writes the prediction files of a GLUE task for gluebenchmark.com.
void predict_glue(const ModelOption& model, const PredictFlags& f) {
  if (!f.input.empty() || !f.texts.empty() || f.json)
    throw UsageError("predict: --glue with --text, --input or --json",
                     "remove them: --glue reads the task's own test files");
  if (f.out.empty())
    throw UsageError("predict: --glue without --out", "name the output folder with --out");
  if (model.is_stored())
    throw UsageError(str("predict: --glue: ", model.recipe.path, " is not a run folder"),
                     "name the folder of a run with a GLUE task");
  const StopSignal stop("predict: stopping after these texts\n");
  for (const std::string& path :
       pipeline::write_glue_submission(model.recipe.load_for_inference("predict"), f.out,
                                       f.options.batch_size, f.options.devices))
    std::cout << path << "\n";
}

void predict(const ModelOption& model, const PredictFlags& f) {
  if (f.glue) return predict_glue(model, f);
  check_flags(model, f);
  execution::Classifier classifier =
      model.load(pipeline::InferenceTask::classify).classifier(f.options);
  if (model.command->count(kThreshold) > 0 && !classifier.job().labels.no_answer)
    throw UsageError(str("predict: ", kThreshold,
                         ": this model was not trained with questions that have no answer"),
                     str("remove ", kThreshold));
  if (classifier.job().labels.problem == io::Problem::answer_spans)
    return predict_answers(std::move(classifier), f);
  Predictions predictions(std::move(classifier), f);
  if (f.input.empty() && f.texts.empty()) {
    converse(predictions);
    return predictions.finish();
  }
  const StopSignal stop("predict: stopping after these texts\n");
  if (!f.input.empty())
    each_row(f, predictions.labels(),
             [&](data::LabelledRow row) { predictions.add(std::move(row)); });
  for (std::size_t i = 0; i < f.texts.size(); ++i)
    predictions.add({.text = f.texts[i], .pair = f.pairs.empty() ? "" : f.pairs[i], .label = {}});
  predictions.finish();
}

void add_row_fields(CLI::App& command, PredictFlags& f) {
  command.add_option("--field", f.columns.text,
                     "with rows: column of the text or question; default: text or question");
  command.add_option(
      "--pair-field", f.columns.pair,
      "with rows: column of a second text; for questions, of the context; default: context");
  command.add_option("--label-field", f.columns.label,
                     "with rows: column of the true label, written as 'label' for `smelt metrics`");
}

}  // namespace

void add_predict_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "predict", "run inference with a fine-tuned model: classes, word labels, answers");
  const auto model = add_model_option(*command);
  auto f = std::make_shared<PredictFlags>();
  f->columns.text.clear();
  f->columns.label.clear();
  command->add_option("--text", f->texts, "a text, or a question; may be given several times");
  command->add_option("--pair", f->pairs,
                      "the second text of each --text; for questions, the context");
  command->add_option(
      "--input", f->input,
      "a file with one text per line, or rows (JSONL, TSV, CSV, Parquet, SQuAD's JSON)");
  command->add_option("--format", f->format, "format of --input; auto: by the file name")
      ->capture_default_str();
  command
      ->add_option("--header", f->header,
                   "first line of a TSV or CSV: names, none (no header) or skipped; without names, "
                   "columns are numbered from 1, and -1 is the last")
      ->capture_default_str();
  add_row_fields(*command, *f);
  command->add_option("--out", f->out, "write JSON lines to this file instead of standard output");
  command->add_flag("--overwrite", f->overwrite, "replace an existing --out file");
  const auto number = [&](const char* name, auto& value, double least, const char* help) {
    command->add_option(name, value, help)->check(number_from(least))->capture_default_str();
  };
  number("--batch", f->options.batch_size, 1, "texts per batch");
  number("--devices", f->options.devices, 1, "number of devices that share a batch");
  command
      ->add_option(
          kThreshold, f->options.no_answer_threshold,
          "for questions: predict no answer if its logit exceeds that of the best answer by "
          "more than this (run_squad.py's null_score_diff_threshold)")
      ->capture_default_str();
  command->add_flag(
      "--glue", f->glue,
      "for a run with data.glue: write the submission files for gluebenchmark.com, from the task's "
      "test files, into the folder --out");
  command->add_flag("--json", f->json, "print a JSON object for each text");
  command->callback([model, f] {
    f->columns.header = choose_of("--header", f->header, text::kHeaders);
    predict(*model, *f);
  });
}

}  // namespace smelt::cli
