#include "pipeline/compression/asked_rows.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/plural.h"
#include "base/stop_signal.h"
#include "data/preprocess/questions.h"
#include "execution/inference/answer_spans.h"
#include "pipeline/objectives/classify_model.h"
#include "pipeline/objectives/compress_checks.h"

namespace smelt::pipeline {
namespace {

constexpr std::size_t kAskedAtOnce = 2048;

// Returns the label in the JSON format of the problem's predictions: a number, a list or a string.
OrderedJson label_json(const io::Labels& labels, const std::string& label) {
  if (io::is_number(labels.problem)) {
    const OrderedJson number = OrderedJson::parse_or_discard(label);
    if (number.is_number()) return number;
    const auto other = data::label_number(label);  // "+1.5" and ".5" are not valid JSON
    return other ? OrderedJson(*other) : OrderedJson(label);
  }
  if (labels.problem == io::Problem::multi_label)
    return data::label_names(labels.problem, label, labels.names);
  return label;
}

std::string name_or(const std::string& name, const char* usual) {
  return name.empty() ? usual : name;
}

struct PlacedRow : data::LabelledRow {
  std::string place;  // "test.tsv:17"
};

// Reads the files and calls `take` with at most kAskedAtOnce rows at a time. Throws if a row is
// unreadable, and Stopped after a signal.
void in_pieces(const data::LabelledFiles& files, const std::string& what, auto&& take) {
  data::LabelledRows rows(files, what);
  std::vector<PlacedRow> piece;
  const auto flush = [&] {
    if (StopSignal::raised())
      throw Stopped("compress: stopped by a signal", "run the same command again");
    if (!piece.empty()) take(std::as_const(piece));
    piece.clear();
  };
  for (data::LabelledRow row; rows.next(row);) {
    piece.push_back({std::move(row), rows.place()});
    if (piece.size() == kAskedAtOnce) flush();
  }
  flush();
}

// Replaces runs of spaces by one, as exact_match in an evaluation does.
std::string one_spaced(const std::string& text) { return join(text::words_in(text), " "); }

// Returns a number from 0 to 4. Latency is measured with the token ids 1 + filler(i), which every
// vocabulary contains.
std::int32_t filler(std::size_t i) { return static_cast<std::int32_t>(i * 7 % 5); }

}  // namespace

OrderedJson row_prediction_json(const data::LabelledRow& row, bool has_label,
                                const io::Labels& labels, const std::vector<float>& numbers) {
  OrderedJson out{{"text", row.users_text()}};
  if (!row.pair.empty()) out["pair"] = row.users_pair();
  if (labels.problem == io::Problem::token_labels) {
    const auto words = text::words_in(row.users_text());
    if (has_label) out["label"] = data::label_names(labels.problem, row.label);
    out.update(words_json(labels, {words.begin(), words.end()}, numbers));
    return out;
  }
  if (has_label) out["label"] = label_json(labels, row.label);
  out["prediction"] = said_json(labels, numbers);
  if (!labels.names.empty()) out["probabilities"] = probabilities_json(labels, numbers);
  return out;
}

ComparedModel::ComparedModel(const std::string& command, const std::string& path,
                             const Options& options)
    : options_(options) {
  LoadOptions load = options.stored;
  load.command = command;
  const PretrainedModel stored = PretrainedModel::of_folder(path, load);
  if (!stored.can(InferenceTask::generate)) {
    classifier_.emplace(stored.classifier({.batch_size = options.batch_size}));
    return;
  }
  execution::GenerateOptions with{.prefix = options.rows.prefix,
                                  .most_inputs = options.rows.seq_length,
                                  .batch_size = options.batch_size,
                                  .hint = "lower --batch, --seq-length or --target-length",
                                  .inputs_name = "--seq-length"};
  with.search.most_tokens = options.rows.target_length;
  if (options.answer_tokens > 0) {
    with.search.most_tokens = with.search.least_tokens = options.answer_tokens;
    with.most_inputs = 1;  // do not pad the ids of seconds() to a power of two
  }
  generator_.emplace(stored.generator(with));
}

const io::Labels& ComparedModel::labels() const {
  CHECK(classifier_);
  return classifier_->job().labels;
}

std::string ComparedModel::metric() const {
  if (is_t5()) return "accuracy";  // "exact-match" would ignore punctuation and articles
  switch (labels().problem) {
    case io::Problem::multi_label:
      return "f1-micro";
    case io::Problem::regression:
    case io::Problem::rerank:
      return "spearman";
    case io::Problem::answer_spans:
      return "squad-f1";
    case io::Problem::token_labels:
      return has_entities(labels()) ? "entity-f1" : "accuracy";
    default:
      return "accuracy";
  }
}

std::vector<OrderedJson> ComparedModel::predict(const RowsToPredict& rows) {
  data::LabelledFiles files = rows.files;
  files.limits.strict = true;
  const bool answers = !is_t5() && labels().problem == io::Problem::answer_spans;
  files.text = name_or(files.text, answers ? "question" : "text");
  files.label = name_or(files.label, answers ? "answers" : "label");
  std::vector<OrderedJson> out;
  if (is_t5()) {
    out = generate_texts(files, rows.what);
  } else if (answers) {
    files.pair = name_or(files.pair, "context");
    files.id = "id";
    files.answers = true;
    out = predict_answers(files, rows.what);
  } else {
    files.words = labels().problem == io::Problem::token_labels;
    files.lists = labels().problem == io::Problem::multi_label;
    files.needs_label = io::needs_label(labels().problem);
    files.known = labels().names;
    out = predict_classes(files, rows.what);
  }
  if (out.empty())
    throw UsageError(str(rows.what, ": ", files.input, " has no rows"), "name a file with rows");
  return out;
}

std::vector<OrderedJson> ComparedModel::predict_classes(const data::LabelledFiles& files,
                                                        const std::string& what) {
  std::vector<OrderedJson> out;
  const data::LabelReader reader(labels());
  in_pieces(files, what, [&](const std::vector<PlacedRow>& piece) {
    std::vector<execution::PairOfTexts> texts;
    for (const PlacedRow& row : piece) {
      if (io::is_number(labels().problem))
        (void)reader.number(row.label, row.place);
      else
        (void)reader.classes(row.label, row.place);
      texts.push_back({row.text, row.pair});
    }
    const auto numbers = classifier_->classify(texts);
    for (std::size_t i = 0; i < piece.size(); ++i)
      out.push_back(row_prediction_json(piece[i], true, labels(), numbers[i]));
  });
  return out;
}

std::vector<OrderedJson> ComparedModel::predict_answers(const data::LabelledFiles& files,
                                                        const std::string& what) {
  std::vector<OrderedJson> out;
  in_pieces(files, what, [&](const std::vector<PlacedRow>& piece) {
    std::vector<execution::TextQuestion> questions;
    for (const PlacedRow& row : piece) {
      execution::TextQuestion& question = questions.emplace_back(
          execution::TextQuestion{.id = row.id, .question = row.text, .context = row.pair});
      question.answers.emplace();
      for (const data::RightAnswer& one : data::right_answers(row.label, row.pair, row.place))
        question.answers->push_back(one.text);
    }
    const auto found = execution::find_answers(*classifier_, questions);
    for (std::size_t i = 0; i < questions.size(); ++i)
      out.push_back(execution::answer_json(questions[i], found[i], labels().no_answer));
  });
  return out;
}

std::vector<OrderedJson> ComparedModel::generate_texts(const data::LabelledFiles& files,
                                                       const std::string& what) {
  std::vector<OrderedJson> out;
  in_pieces(files, what, [&](const std::vector<PlacedRow>& piece) {
    const auto size = static_cast<std::size_t>(options_.batch_size);
    for (std::size_t at = 0; at < piece.size(); at += size) {
      std::vector<std::string> texts;
      for (std::size_t i = at; i < std::min(at + size, piece.size()); ++i)
        texts.push_back(piece[i].text);
      const auto answers = generator_->answer(std::span<const std::string>(texts));
      for (std::size_t i = 0; i < texts.size(); ++i)
        out.push_back({{"text", piece[at + i].users_text()},
                       {"label", one_spaced(piece[at + i].label)},
                       {"prediction", answers[i].empty() ? "" : one_spaced(answers[i][0].text)}});
    }
  });
  return out;
}

double ComparedModel::seconds(std::int64_t texts, std::int64_t tokens) {
  const auto B = static_cast<std::size_t>(texts), S = static_cast<std::size_t>(tokens);
  std::vector<std::int32_t> ids(S);
  for (std::size_t i = 0; i < S; ++i) ids[i] = 1 + filler(i);
  if (is_t5()) {
    const std::vector<std::vector<std::int32_t>> inputs(B, ids);
    const auto begin = Clock::now();
    (void)generator_->answer(std::span<const std::vector<std::int32_t>>(inputs));
    return seconds_since(begin);
  }
  const std::vector<text::TextPairIds> inputs(B, text::TextPairIds{.ids = ids, .first = S});
  const auto begin = Clock::now();
  (void)classifier_->classify(std::span<const text::TextPairIds>(inputs));
  return seconds_since(begin);
}

std::int64_t ComparedModel::most_tokens() const {
  return is_t5() ? options_.rows.seq_length : classifier_->job().most_tokens;
}

}  // namespace smelt::pipeline
