#include "pipeline/objectives/classify_data.h"

#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "checkpoint/interop/hugging_face_classifier.h"
#include "data/input_pipeline/description.h"
#include "data/preprocess/labelled_examples.h"
#include "data/preprocess/question_examples.h"
#include "data/preprocess/row_overview.h"
#include "evaluation/tracking/predictions_page.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/config/row_commands.h"
#include "pipeline/objectives/classify_fields.h"
#include "pipeline/objectives/row_source.h"

namespace smelt::pipeline {
namespace {

double part_of(std::uint64_t part, std::uint64_t of) {
  return of == 0 ? 0 : static_cast<double>(part) / static_cast<double>(of);
}

std::string or_else(const std::string& value, const char* otherwise) {
  return value.empty() ? otherwise : value;
}

std::vector<std::string> named_classes(const ClassifyData& data) {
  return checkpoint::composed_labels(io::class_names_in(data.labels));
}

// The default column names of text, pair and label.
struct Columns {
  const char *text, *pair, *label;
};
Columns usual_columns(io::Problem problem, const ClassifyData& data) {
  if (problem == io::Problem::answer_spans) return {"question", "context", "answers"};
  if (problem != io::Problem::rerank) return {"text", "", "label"};
  return {"query", data.negative.empty() ? "document" : "positive",
          data.negative.empty() ? "label" : ""};
}

data::LabelledFiles files_of(const Recipe& r, const std::string& input) {
  const ClassifyData data = classify_data(r);
  const bool answers = of_answers(r);
  const bool rerank = classify_model(r).problem == io::Problem::rerank;
  const Columns columns = usual_columns(classify_model(r).problem, data);
  return {.input = input,
          .format = text::parse_file_format(data.format, "data.format"),
          .text = or_else(data.text, columns.text),
          .pair = or_else(data.pair, columns.pair),
          .label = or_else(data.label, columns.label),
          .header = data.header,
          .id = answers ? "id" : "",
          .words = classify_model(r).problem == io::Problem::token_labels,
          .lists = classify_model(r).problem == io::Problem::multi_label,
          .answers = answers,
          .needs_label = io::needs_label(classify_model(r).problem) && data.negative.empty(),
          .needs_pair = rerank,
          .others = column_names(data.negative),
          .known = named_classes(data),
          .limits = {.max_bad = data.max_bad, .held_to = "data.max_bad"}};
}

// Returns the problem and its classes: those of data.labels, or else those of the training rows.
// Counts the training rows in the latter case.
io::Labels labels_for(const Recipe& r) {
  const ClassifyData data = classify_data(r);
  io::Labels out{.problem = classify_model(r).problem, .names = named_classes(data)};
  if (!out.has_classes() || !out.names.empty()) return out;
  for (const auto& [name, count] :
       data::count_labels(files_of(r, data.train), out.problem, "data.train")) {
    out.names.push_back(name);
    if (count == 1)
      log_warning("data.train: class '{}' has only one example, which is used for training", name);
  }
  return out;
}

// The rows of a split and the records made from them.
struct Part : RowSource {
  std::string output;
  bool scored;  // whether it is for evaluation, not for training
};

std::uint64_t write_questions(const Recipe& r, const Part& part) {
  const ClassifyData data = classify_data(r);
  const data::QuestionSummary s = data::write_question_examples({.rows = files_of(r, part.input),
                                                                 .what = part.what,
                                                                 .split = part.split,
                                                                 .no_answer = data.no_answer,
                                                                 .vocab = RecipePaths(r).vocab,
                                                                 .tokenizer = tokenizer_flags(r),
                                                                 .seq_length = data.seq_length,
                                                                 .windows = windows_of(data),
                                                                 .output = part.output,
                                                                 .keep_questions = part.scored});
  log_info("data: {} of {}, {} without an answer, in {} of {} tokens, {} unknown tokens{}",
           counted(s.questions, "question"), part.what, s.without_answer,
           counted(s.examples, "window"), data.seq_length, percent(part_of(s.unknown, s.tokens)),
           s.left_out == 0 ? ""
                           : str("; ", s.left_out,
                                 " left out because the answer is not at the given position"));
  return s.examples;
}

std::uint64_t write_texts(const Recipe& r, const io::Labels& labels, const Part& part) {
  const ClassifyData data = classify_data(r);
  const data::LabelledExamplesJob job{.rows = files_of(r, part.input),
                                      .what = part.what,
                                      .split = part.split,
                                      .both_orders = data.both_orders && !part.scored,
                                      .labels = labels,
                                      .vocab = RecipePaths(r).vocab,
                                      .tokenizer = tokenizer_flags(r),
                                      .seq_length = data.seq_length,
                                      .output = part.output,
                                      .keeps_rows = part.scored};
  const data::LabelledSummary s = data::write_labelled_examples(job);
  log_info("data: {} of {}: {} of them truncated to {} tokens, {} unknown tokens",
           counted(s.examples, "example"), part.what, percent(part_of(s.cut, s.examples)),
           job.seq_length, percent(part_of(s.unknown, s.tokens)));
  return s.examples;
}

data::RowOverviewJob overview_job(const Recipe& r) {
  const ClassifyData data = classify_data(r);
  data::RowOverviewJob job{
      .splits = {}, .problem = classify_model(r).problem, .seq_length = data.seq_length};
  for (const auto& [name, input] :
       {std::pair{"train", data.train}, {"validation", data.validation}, {"test", data.test}}) {
    if (input.empty()) continue;
    job.splits.push_back({name, files_of(r, input)});
    job.splits.back().files.limits.quiet = true;
  }
  return job;
}

// Writes an overview of the rows for the report page. Missing rows are not an error.
void write_overview(const Recipe& r) {
  try {
    io::write_file(
        io::join_path(r.out, evaluation::kRowOverviewFile),
        data::row_overview(overview_job(r)).dump(1, ' ', false, JsonInvalidUtf8::replace));
  } catch (const UsageError& error) {
    log_warning("data: could not write the overview of the rows: {}", error.what());
  }
}

}  // namespace

ClassifyModel classify_model(const Recipe& r) {
  return io::parse_config<ClassifyModel>(r.model, "model");
}
ClassifyData classify_data(const Recipe& r) { return row_data<ClassifyData>(r); }
std::string example_flags(const Recipe& r) {
  if (of_answers(r)) return "--text 'a question' --pair 'a text with its answer'";
  if (classify_model(r).problem == io::Problem::rerank)
    return "--text 'a query' --pair 'a document'";
  return classify_data(r).pair.empty() ? "--text 'a text'" : "--text 'a text' --pair 'another'";
}

bool of_answers(const Recipe& r) { return classify_model(r).problem == io::Problem::answer_spans; }
text::WindowRules windows_of(const ClassifyData& data) {
  return {.question_tokens = data.question_tokens, .stride = data.doc_stride};
}
io::AnswerLimits answer_limits(const ClassifyData& data) {
  return {.question_tokens = data.question_tokens,
          .doc_stride = data.doc_stride,
          .answer_tokens = data.answer_tokens};
}

std::vector<double> class_weights_of(const std::string& text, const std::vector<std::string>& names,
                                     const std::vector<double>& counts) {
  if (text.empty() || text == "none") return {};
  std::vector<double> out;
  if (text == "balanced") {
    out.assign(names.size(), 1.0);
    if (counts.size() != names.size()) return out;  // the data are not made yet
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    for (std::size_t i = 0; i < counts.size(); ++i)
      out[i] = counts[i] > 0 ? all / (static_cast<double>(counts.size()) * counts[i]) : 1.0;
    return out;
  }
  for (const std::string_view word : split(text, ',')) {
    const std::string_view number = trim(word);
    double weight = 0;
    const auto [end, fault] = std::from_chars(number.data(), number.data() + number.size(), weight);
    if (fault != std::errc() || end != number.data() + number.size() || !(weight > 0) ||
        std::isinf(weight))
      throw UsageError(str("train.class_weights: '", number, "' is not a number above 0"),
                       "write balanced, or a number for each class: 1,2.5,1");
    out.push_back(weight);
  }
  if (out.size() != names.size())
    throw UsageError(str("train.class_weights has ", counted(out.size(), "number"), ", there are ",
                         counted(names.size(), "class", "classes"), ": ", join(names, ", ")),
                     "give one number for each class, in this order");
  return out;
}

std::vector<std::string> known_labels(const Recipe& r) {
  if (!io::Labels{.problem = classify_model(r).problem}.has_classes()) return {};
  if (const ClassifyData data = classify_data(r); !data.labels.empty()) return named_classes(data);
  const RecipePaths paths(r);
  const auto files = record_files(paths.train_records);
  if (const auto described = files.empty() ? std::nullopt : data::find_description(files))
    return checkpoint::composed_labels(described->all.value("labels", std::vector<std::string>()));
  const auto begun = state_to_resume(r);
  return begun
             ? checkpoint::composed_labels(begun->state.value("labels", std::vector<std::string>()))
             : std::vector<std::string>();
}

std::vector<std::string> labels_to_come(const Recipe& r) {
  const auto known = known_labels(r);
  const bool is_printed =
      !is_row_command(r.data.value("train", "")) || io::exists(row_input(r, "train"));
  return known.empty() && is_printed && r.ready.records.empty() ? labels_for(r).names : known;
}

std::vector<std::string> labelled_row_files(const Recipe& r) {
  if (classify_data(r).train.empty())
    throw UsageError("data.train: no labelled texts",
                     "give files of JSONL, TSV, CSV or Parquet with --set data.train=…");
  return row_files(r);
}

std::uint64_t write_rows_of(const Recipe& r, ExampleSet set, const std::string& file) {
  const RowSource source = row_source(classify_data(r), set);
  data::LabelledExamplesJob job;
  job.rows = files_of(r, source.input);
  job.what = source.what;
  job.split = source.split;
  job.labels = labels_for(r);
  job.output = file;
  return data::write_labelled_rows(job);
}

void check_labelled_rows(const Recipe& r) {
  each_row_source(r, classify_data(r), [&](const RowSource& source) {
    if (source.what == "data.train") (void)labels_for(r);  // as make_labelled() does
    data::check_rows(files_of(r, source.input), source.what,
                     of_answers(r) ? "give rows of questions, texts and answers"
                                   : "give rows of texts and labels");
  });
}

std::uint64_t make_labelled(const Recipe& r, ExampleSet set) {
  const RecipePaths paths(r);
  const ClassifyData data = classify_data(r);
  io::Labels labels{.problem = classify_model(r).problem};
  if (set == ExampleSet::test)
    labels.names = known_labels(r);
  else
    labels = labels_for(r);
  const bool test = set == ExampleSet::test, train = set == ExampleSet::train;
  const Part part{row_source(data, set),
                  test    ? paths.test_records
                  : train ? paths.train_output
                          : paths.heldout_output,
                  !train};
  if (of_answers(r)) return write_questions(r, part);
  const std::uint64_t examples = write_texts(r, labels, part);
  // The overview covers all splits and is written once: after the records of the test split, or
  // after the training records if there is no test split.
  const bool has_labels = data.negative.empty();
  if (has_labels && (test || (train && data.test.empty()))) write_overview(r);
  return examples;
}

}  // namespace smelt::pipeline
