#include "cli/commands/served_models.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/choice.h"
#include "base/error.h"
#include "base/number_format.h"
#include "pipeline/objectives/classify_model.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

using pipeline::InferenceTask;

// Number of batches between two checks for a signal.
constexpr std::int64_t kServedBatches = 16;
constexpr const char* kRequestHint = "docs/reference/serve.md lists the fields of each request";

constexpr std::array<std::pair<const char*, InferenceTask>, 5> kServedTasks{
    {{"fill_mask", InferenceTask::fill_mask},
     {"classify", InferenceTask::classify},
     {"generate", InferenceTask::generate},
     {"detect", InferenceTask::detect},
     {"embed", InferenceTask::embed}}};

// Throws UsageError if the request has a field that is not in `known`, besides "id" and "do".
void check_request_fields(const Json& request, const std::string& where,
                          std::vector<std::string> known) {
  known.insert(known.end(), {"id", "do"});
  for (const auto& [name, value] : request.items())
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(str(where, ": unknown field '", name, "'"), did_you_mean(name, known));
}

// Returns a list of texts in NFC. Throws UsageError if the field is missing or another type.
std::vector<std::string> composed_texts(const io::JsonField& field) {
  if (field.is_null()) field.throw_unexpected(", expected a list of strings");
  std::vector<std::string> texts = field.as_texts();
  for (std::string& text : texts) text::to_nfc(text);
  return texts;
}

std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return !text::continues_character(c); }));
}

// Calls `work` with the first index and the number of texts of each piece of at most `size`.
void in_served_pieces(std::size_t total, std::int64_t size, const ServeProgress& progress,
                      const std::function<void(std::size_t first, std::size_t count)>& work) {
  const auto most = static_cast<std::size_t>(size);
  for (std::size_t first = 0; first < total; first += most) {
    const std::size_t count = std::min(most, total - first);
    work(first, count);
    progress(first + count, total);
  }
}

template <class T>
std::vector<T> piece_of(const std::vector<T>& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// Reads an integer of at least `least`. Throws UsageError otherwise.
std::int64_t integer_from(const io::JsonField& field, std::int64_t least, std::int64_t otherwise) {
  const std::int64_t value = field.as_number<std::int64_t>().value_or(otherwise);
  if (value < least) field.throw_unexpected(str(", expected at least ", least));
  return value;
}

// Reads "batch_size" and "no_answer_threshold".
execution::ClassifyOptions classify_options(const io::JsonField& request) {
  execution::ClassifyOptions options;
  options.batch_size = integer_from(request["batch_size"], 1, options.batch_size);
  options.no_answer_threshold = request["no_answer_threshold"].as<double>(0.0);
  return options;
}

model::EarlyStop early_stop_of(const io::JsonField& field) {
  return choose<model::EarlyStop>("generate: early_stopping", field.as<std::string>("no"),
                                  {{"no", model::EarlyStop::no},
                                   {"yes", model::EarlyStop::yes},
                                   {"never", model::EarlyStop::never}});
}

const std::vector<std::string> kGenerateFields{
    "model",          "texts",          "max_length", "min_length",  "beams", "answers",
    "length_penalty", "early_stopping", "sample",     "temperature", "top_k", "top_p",
    "max_inputs",     "batch_size",     "seed",       "prefix"};

execution::GenerateOptions generate_options(const io::JsonField& request) {
  execution::GenerateOptions out;
  model::Search& s = out.search;
  s.most_tokens = integer_from(request["max_length"], 1, s.most_tokens);
  s.least_tokens = integer_from(request["min_length"], 0, s.least_tokens);
  s.beams = integer_from(request["beams"], 1, s.beams);
  s.answers = integer_from(request["answers"], 1, s.answers);
  s.length_penalty = request["length_penalty"].as<double>(s.length_penalty);
  s.early_stop = early_stop_of(request["early_stopping"]);
  s.sample = request["sample"].as_switch().value_or(false);
  s.temperature = request["temperature"].as<double>(s.temperature);
  s.top_k = integer_from(request["top_k"], 0, s.top_k);
  s.top_p = request["top_p"].as<double>(s.top_p);
  out.most_inputs = integer_from(request["max_inputs"], 2, out.most_inputs);
  out.batch_size = integer_from(request["batch_size"], 1, out.batch_size);
  out.seed = request["seed"].as_number<std::int64_t>().value_or(out.seed);
  if (!request["prefix"].is_null()) out.prefix = request["prefix"].as<std::string>();
  out.hint = "lower batch_size, max_length, max_inputs or beams";
  out.inputs_name = "max_inputs";
  return out;
}

// Returns the words of a text with their labels; positions are in characters of `text`.
OrderedJson labelled_words(const std::string& text,
                           const std::vector<pipeline::TokenLabel>& labels) {
  OrderedJson out = OrderedJson::array();
  const auto words = text::words_in(text);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto begin = static_cast<std::size_t>(words[i].data() - text.data());
    const std::size_t first = characters_in(std::string_view(text).substr(0, begin));
    out.push_back({{"word", words[i]},
                   {"label", labels[i].label},
                   {"begin", first},
                   {"end", first + characters_in(words[i])},
                   {"probability", to_f32_digits(labels[i].probability)}});
  }
  return out;
}

}  // namespace

ServedModels::Model& ServedModels::model_of(const io::JsonField& request) {
  const auto number = request["model"].as_number<std::int64_t>();
  if (!number) request["model"].throw_unexpected(", expected the number of a loaded model");
  const auto found = models_.find(*number);
  if (found == models_.end())
    throw UsageError(str("serve: model ", *number, " is not loaded"),
                     "send {\"do\": \"load\", \"path\": FOLDER} first, and use the number in its "
                     "answer");
  return found->second;
}

ServedAnswer ServedModels::load(const io::JsonField& request) {
  check_request_fields(request.value(), "serve: load",
                       {"path", "device", "precision", "vocab", "batch_size", "max_length"});
  pipeline::LoadOptions options{.command = "load"};
  options.vocab = request["vocab"].as<std::string>("");
  options.device = request["device"].as<std::string>("cpu");
  options.precision =
      choose<std::string>("load: precision", request["precision"].as<std::string>("f32"),
                          {{"f32", "f32"}, {"f32_exact", "f32_exact"}});
  options.batch_size = integer_from(request["batch_size"], 1, options.batch_size);
  options.max_length = integer_from(request["max_length"], 0, options.max_length);
  const std::string path = request["path"].as<std::string>();
  Model made{.loaded = pipeline::PretrainedModel::load(path, options)};
  ServedAnswer out;
  out.json["model"] = next_;
  out.json["tasks"] = OrderedJson::array();
  for (const auto& [name, task] : kServedTasks)
    if (made.loaded.can(task)) out.json["tasks"].push_back(name);
  if (made.loaded.can(InferenceTask::classify)) {
    const io::Labels& labels = made.loaded.labels();
    out.json["problem"] = word_of(labels.problem, io::kProblems);
    out.json["labels"] = labels.names;
    out.json["no_answer"] = labels.no_answer;
  }
  models_.emplace(next_++, std::move(made));
  return out;
}

ServedAnswer ServedModels::close(const io::JsonField& request) {
  check_request_fields(request.value(), "serve: close", {"model"});
  (void)model_of(request);
  models_.erase(request["model"].as<std::int64_t>());
  return {};
}

ServedAnswer ServedModels::fill_mask(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request.value(), "serve: fill_mask", {"model", "texts", "top"});
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  const std::int64_t top = integer_from(request["top"], 1, 5);
  ServedAnswer out;
  OrderedJson& all = out.json["texts"] = OrderedJson::array();
  in_served_pieces(texts.size(), 256, progress, [&](std::size_t first, std::size_t count) {
    for (const auto& text : model.loaded.fill_mask(piece_of(texts, first, count), top)) {
      OrderedJson& masks = all.emplace_back(OrderedJson::array());
      for (const auto& guesses : text.masks) {
        OrderedJson& mask = masks.emplace_back(OrderedJson::array());
        for (const execution::MaskGuess& guess : guesses)
          mask.push_back({{"token", guess.token}, {"probability", guess.probability}});
      }
    }
  });
  return out;
}

ServedAnswer ServedModels::classify(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request.value(), "serve: classify",
                       {"model", "texts", "pairs", "batch_size"});
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  std::vector<std::string> pairs(texts.size());
  if (!request["pairs"].is_null()) pairs = composed_texts(request["pairs"]);
  if (pairs.size() != texts.size())
    throw UsageError(str("classify: ", pairs.size(), " pairs for ", texts.size(), " texts"),
                     "give one pair for each text, or none");
  std::vector<execution::PairOfTexts> rows;
  for (std::size_t i = 0; i < texts.size(); ++i) rows.push_back({texts[i], pairs[i]});
  const execution::ClassifyOptions options = classify_options(request);
  ServedAnswer out;
  OrderedJson& said = out.json["predictions"] = OrderedJson::array();
  ServedArray outputs{.name = "outputs", .shape = {std::ssize(texts), 0}, .values = {}};
  in_served_pieces(rows.size(), kServedBatches * options.batch_size, progress,
                   [&](std::size_t first, std::size_t count) {
                     const auto piece = std::span(rows).subspan(first, count);
                     const auto found = model.loaded.classify(piece, options);
                     for (const pipeline::TextLabel& one : found) {
                       said.push_back(pipeline::said_json(model.loaded.labels(), one.outputs));
                       outputs.shape[1] = std::ssize(one.outputs);
                       outputs.values.insert(outputs.values.end(), one.outputs.begin(),
                                             one.outputs.end());
                     }
                   });
  out.arrays.push_back(std::move(outputs));
  return out;
}

ServedAnswer ServedModels::token_labels(const io::JsonField& request,
                                        const ServeProgress& progress) {
  check_request_fields(request.value(), "serve: token_labels", {"model", "texts", "batch_size"});
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  const auto users = request["texts"].as_texts();
  const execution::ClassifyOptions options = classify_options(request);
  ServedAnswer out;
  OrderedJson& all = out.json["texts"] = OrderedJson::array();
  in_served_pieces(texts.size(), kServedBatches * options.batch_size, progress,
                   [&](std::size_t first, std::size_t count) {
                     const auto found =
                         model.loaded.token_labels(piece_of(texts, first, count), options);
                     for (std::size_t i = 0; i < count; ++i)
                       all.push_back(labelled_words(users[first + i], found[i]));
                   });
  return out;
}

ServedAnswer ServedModels::answer_question(const io::JsonField& request,
                                           const ServeProgress& progress) {
  check_request_fields(request.value(), "serve: answer",
                       {"model", "questions", "contexts", "batch_size", "no_answer_threshold"});
  Model& model = model_of(request);
  const auto questions = composed_texts(request["questions"]);
  const auto contexts = composed_texts(request["contexts"]);
  if (questions.size() != contexts.size())
    throw UsageError(
        str("answer: ", contexts.size(), " contexts for ", questions.size(), " questions"),
        "give one context for each question");
  std::vector<execution::TextQuestion> rows;
  for (std::size_t i = 0; i < questions.size(); ++i)
    rows.push_back({.question = questions[i], .context = contexts[i]});
  const execution::ClassifyOptions options = classify_options(request);
  ServedAnswer out;
  OrderedJson& all = out.json["answers"] = OrderedJson::array();
  in_served_pieces(rows.size(), kServedBatches * options.batch_size, progress,
                   [&](std::size_t first, std::size_t count) {
                     const auto found = model.loaded.answer_question(
                         std::span(rows).subspan(first, count), options);
                     for (std::size_t i = 0; i < count; ++i) {
                       OrderedJson one = execution::answer_json(rows[first + i], found[i],
                                                                model.loaded.labels().no_answer);
                       one.erase("question");
                       one.erase("context");
                       all.push_back(std::move(one));
                     }
                   });
  return out;
}

ServedAnswer ServedModels::generate(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request.value(), "serve: generate", kGenerateFields);
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  const execution::GenerateOptions options = generate_options(request);
  if (!model.generator || model.options != options) {
    model.generator.emplace(model.loaded.generator(options));
    model.options = options;
  }
  ServedAnswer out;
  OrderedJson& all = out.json["texts"] = OrderedJson::array();
  in_served_pieces(
      texts.size(), options.batch_size, progress, [&](std::size_t first, std::size_t count) {
        for (const auto& answers : model.generator->answer(std::span(texts).subspan(first, count),
                                                           static_cast<std::int64_t>(first))) {
          OrderedJson& of_text = all.emplace_back(OrderedJson::array());
          for (const execution::Answer& one : answers)
            of_text.push_back({{"text", one.text},
                               {"score", to_f32_digits(one.score)},
                               {"tokens", one.ids.size()}});
        }
      });
  return out;
}

ServedAnswer ServedModels::answer(const Json& request, const ServeProgress& progress) {
  using Method = std::function<ServedAnswer(const io::JsonField&)>;
  const auto with_progress =
      [&](ServedAnswer (ServedModels::*method)(const io::JsonField&, const ServeProgress&)) {
        return [this, method, &progress](const io::JsonField& field) {
          return (this->*method)(field, progress);
        };
      };
  const std::vector<std::pair<std::string_view, Method>> methods{
      {"load", [this](const io::JsonField& field) { return load(field); }},
      {"close", [this](const io::JsonField& field) { return close(field); }},
      {"fill_mask", with_progress(&ServedModels::fill_mask)},
      {"classify", with_progress(&ServedModels::classify)},
      {"token_labels", with_progress(&ServedModels::token_labels)},
      {"answer", with_progress(&ServedModels::answer_question)},
      {"generate", with_progress(&ServedModels::generate)}};
  const std::string name = io::JsonField(request, "serve", kRequestHint)["do"].as<std::string>();
  const std::string where = str("serve: ", name);
  return choose_of("serve: request", name, methods)(io::JsonField(request, where, kRequestHint));
}

}  // namespace smelt::cli
