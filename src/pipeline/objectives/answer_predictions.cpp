#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "data/preprocess/question_examples.h"
#include "evaluation/metrics/answers.h"
#include "execution/inference/answer_spans.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "pipeline/config/recipe_paths.h"
#include "pipeline/objectives/classify_model.h"
#include "pipeline/objectives/pretrained_model.h"
#include "text/readers/lines.h"
#include "train/process_group.h"

namespace smelt::pipeline {
namespace {

constexpr std::size_t kQuestionsAtOnce = 1024;

execution::TextQuestion question_in(const std::string& line, const text::LineReader& lines) {
  const auto all = Json::parse_or_discard(line);
  if (!all.is_object())
    throw UsageError(
        str(lines.path(), ":", lines.number(), ": expected a JSON object with a question"),
        "delete the file; `smelt run` makes the examples again");
  return {.id = all.value("id", ""),
          .question = all.value("question", ""),
          .context = all.value("context", ""),
          .answers = all.value("answers", std::vector<std::string>())};
}

}  // namespace

std::vector<model::MeasuredValue> write_answer_predictions(const Recipe& r) {
  const RecipePaths paths(r);
  const std::string file = data::questions_file(paths.scored);
  if (!io::exists(file)) {
    log_warning("eval: no answers were extracted: {} (the questions of {}) is missing", file,
                paths.scored);
    return {};
  }
  execution::Classifier classifier = PretrainedModel::of_recipe(r).classifier(
      {.batch_size = r.eval.batch_size,
       .devices = train::local_inference_devices(r.train.devices)});
  const bool may_have_none = classifier.job().labels.no_answer;
  io::OutputFile out(paths.predictions);
  evaluation::AnswerScore sum;
  double count = 0;
  std::vector<execution::TextQuestion> questions;
  const auto flush = [&] {
    const auto found = execution::find_answers(classifier, questions);
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const evaluation::AnswerScore score =
          evaluation::squad_score(found[i].text, *questions[i].answers);
      sum.exact += score.exact;
      sum.f1 += score.f1;
      out.write(execution::answer_json(questions[i], found[i], may_have_none)
                    .dump(-1, ' ', false, JsonInvalidUtf8::replace) +
                "\n");
    }
    count += static_cast<double>(questions.size());
    questions.clear();
  };
  text::LineReader lines(file);
  for (std::string line; lines.next(line);) {
    questions.push_back(question_in(line, lines));
    if (questions.size() == kQuestionsAtOnce) flush();
  }
  flush();
  out.commit();
  if (count == 0) return {};
  return {{.name = "exact_match", .value = sum.exact / count, .weight = count},
          {.name = "f1", .value = sum.f1 / count, .weight = count}};
}

}  // namespace smelt::pipeline
