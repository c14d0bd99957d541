#include "execution/inference/answer_spans.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/error.h"
#include "base/number_format.h"
#include "base/parallel.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/answer_windows.h"

namespace smelt::execution {
namespace {

constexpr std::size_t kBestAnswers = 20;

struct SpanScore {
  double logit;
  std::size_t first, last;  // token indices in the context
};

// Logits of a window: two for [CLS] and for each token of the context.
struct WindowScores {
  std::span<const float> logits;

  double first(std::size_t at) const { return logits[2 * at]; }
  double last(std::size_t at) const { return logits[2 * at + 1]; }
  double none() const { return first(0) + last(0); }
};

// Adds the spans whose first token has the most context in this window (AnswerWindow::is_best).
// Keeps only the kBestAnswers best spans in `out`.
void add_spans(const text::AnswerWindow& window, const WindowScores& scores, std::size_t longest,
               std::vector<SpanScore>& out) {
  for (std::size_t i = 0; i < window.is_best.size(); ++i) {
    if (!window.is_best[i]) continue;
    for (std::size_t j = i; j < std::min(i + longest, window.is_best.size()); ++j)
      out.push_back({scores.first(i + 1) + scores.last(j + 1), window.first + i, window.first + j});
  }
  const auto better = [](const SpanScore& a, const SpanScore& b) {
    return std::tuple(-a.logit, a.first, a.last) < std::tuple(-b.logit, b.first, b.last);
  };
  const std::size_t kept = std::min(kBestAnswers, out.size());
  std::ranges::partial_sort(out, out.begin() + static_cast<std::ptrdiff_t>(kept), better);
  out.resize(kept);
}

double probability_of(double logit, const std::vector<SpanScore>& best, const double* none) {
  double sum = none != nullptr ? std::exp(*none - logit) : 0;
  for (const SpanScore& one : best) sum += std::exp(one.logit - logit);
  return 1 / sum;
}

FoundAnswer best_answer(const TextQuestion& q, const text::AnswerWindows& all,
                        std::span<const std::vector<float>> logits, const ClassifyJob& job) {
  const bool may_have_none = job.labels.no_answer;
  std::vector<SpanScore> best;
  double none = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < all.windows.size(); ++i) {
    const WindowScores scores{logits[i]};
    none = std::min(none, scores.none());
    add_spans(all.windows[i], scores, static_cast<std::size_t>(job.answers.answer_tokens), best);
  }
  FoundAnswer out;
  if (best.empty()) return out;  // a text without tokens
  const SpanScore& first = best.front();
  out.no_answer = none - first.logit;
  out.begin = all.pieces[first.first].begin;
  out.end = text::shown_end(q.context, all.pieces, first.last);
  out.best = q.context.substr(out.begin, out.end - out.begin);
  const bool says_none = may_have_none && out.no_answer > job.no_answer_threshold;
  if (!says_none) out.text = out.best;
  out.probability =
      probability_of(says_none ? none : first.logit, best, may_have_none ? &none : nullptr);
  return out;
}

std::size_t characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

}  // namespace

std::vector<FoundAnswer> find_answers(Classifier& classifier,
                                      std::span<const TextQuestion> questions) {
  const ClassifyJob& job = classifier.job();
  CHECK(job.labels.problem == io::Problem::answer_spans);
  const text::AnswerWindowEncoder encoder(
      classifier.tokenizer(), job.most_tokens,
      {.question_tokens = job.answers.question_tokens, .stride = job.answers.doc_stride});
  std::vector<text::AnswerWindows> windows(questions.size());
  run_each(questions.size(), available_threads(), [&](std::size_t i) {
    windows[i] = encoder.encode(questions[i].question, questions[i].context);
  });
  std::vector<text::TextPairIds> texts;
  for (const text::AnswerWindows& of_question : windows)
    for (const text::AnswerWindow& window : of_question.windows) texts.push_back(window.ids);
  const auto logits = classifier.classify(texts);
  std::vector<FoundAnswer> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const std::size_t count = windows[i].windows.size();
    out.push_back(best_answer(questions[i], windows[i], std::span(logits).subspan(at, count), job));
    at += count;
  }
  return out;
}

OrderedJson answer_json(const TextQuestion& q, const FoundAnswer& found, bool may_have_none) {
  OrderedJson out;
  if (!q.id.empty()) out["id"] = q.id;
  out["question"] = q.question;
  out["context"] = q.context;
  if (q.answers) out["label"] = *q.answers;
  out["prediction"] = found.text;
  out["probability"] = to_f32_digits(found.probability);
  if (may_have_none) out["best"] = found.best;
  if (!found.best.empty()) {
    out["begin"] = characters(std::string_view(q.context).substr(0, found.begin));
    out["end"] = characters(std::string_view(q.context).substr(0, found.end));
  }
  if (may_have_none) out["no_answer"] = to_f32_digits(found.no_answer);
  return out;
}

}  // namespace smelt::execution
