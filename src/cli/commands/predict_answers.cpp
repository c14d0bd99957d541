#include <unistd.h>

#include <iomanip>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "base/stop_signal.h"
#include "cli/commands/predict_output.h"
#include "data/preprocess/questions.h"
#include "execution/inference/answer_spans.h"

namespace smelt::cli {
namespace {

class AnswerLines {
 public:
  AnswerLines(execution::Classifier classifier, const PredictFlags& flags)
      : classifier_(std::move(classifier)),
        most_(static_cast<std::size_t>(kBatchesAtOnce * flags.options.batch_size)),
        out_(flags) {}

  void add(execution::TextQuestion question) {
    waiting_.push_back(std::move(question));
    if (waiting_.size() == most_) flush();
  }
  void finish() {
    flush();
    out_.commit();
  }

 private:
  void flush() {
    out_.check_signal(done_, "question");
    const auto found = execution::find_answers(classifier_, waiting_);
    const bool may_have_none = classifier_.job().labels.no_answer;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (out_.is_json())
        out_.line(execution::answer_json(waiting_[i], found[i], may_have_none));
      else
        out_.line(answer_text(found[i]));
    }
    done_ += waiting_.size();
    waiting_.clear();
    out_.flush();
  }
  // Returns "in Berlin\t0.9312".
  static std::string answer_text(const execution::FoundAnswer& found) {
    std::ostringstream out;
    out << (found.text.empty() ? "(no answer)" : found.text) << "\t" << std::setprecision(4)
        << std::fixed << found.probability;
    return out.str();
  }

  execution::Classifier classifier_;
  std::size_t most_;
  PredictionOutput out_;
  std::vector<execution::TextQuestion> waiting_;
  std::uint64_t done_ = 0;
};

void each_question(const PredictFlags& f, const std::string& input, const std::string& format,
                   AnswerLines& lines) {
  data::LabelledFiles files = f.columns;
  files.input = input;
  files.format = text::parse_file_format(format);
  if (files.text.empty()) files.text = "question";
  if (files.pair.empty()) files.pair = "context";
  files.id = "id";
  files.answers = true;
  files.limits = {.strict = true};
  data::LabelledRows rows(files, "--input");
  for (data::LabelledRow row; rows.next(row);) {
    execution::TextQuestion question{.id = row.id, .question = row.text, .context = row.pair};
    if (!files.label.empty()) {
      question.answers.emplace();
      for (const data::RightAnswer& one : data::right_answers(row.label, row.pair, rows.place()))
        question.answers->push_back(one.text);
    }
    lines.add(std::move(question));
  }
}

}  // namespace

void predict_answers(execution::Classifier classifier, const PredictFlags& f) {
  const bool reads_lines = f.input.empty() && f.texts.empty() && ::isatty(STDIN_FILENO) == 0;
  if (f.input.empty() && !reads_lines && (f.texts.empty() || f.pairs.empty()))
    throw UsageError("predict: this model answers questions, but no context is given",
                     "use --text QUESTION --pair TEXT, --input with questions, or JSON lines with "
                     "question and context on standard input");
  const StopSignal stop("predict: stopping after these questions\n");
  AnswerLines lines(std::move(classifier), f);
  if (!f.input.empty()) each_question(f, f.input, f.format, lines);
  if (reads_lines) each_question(f, "/dev/stdin", "jsonl", lines);
  for (std::size_t i = 0; i < f.texts.size(); ++i)
    lines.add({.id = {}, .question = f.texts[i], .context = f.pairs[i]});
  lines.finish();
}

}  // namespace smelt::cli
