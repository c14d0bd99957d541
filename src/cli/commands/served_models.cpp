#include "cli/commands/served_models.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/choice.h"
#include "base/error.h"
#include "base/number_format.h"
#include "cli/commands/embed_flags.h"
#include "cli/options/answers.h"
#include "io/filesystem/model_path.h"
#include "io/hub/hub_files.h"
#include "pipeline/objectives/classify_model.h"
#include "pjrt/client.h"
#include "pjrt/hardware.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/text_pair.h"
#include "text/tokenizers/tokenizer.h"

namespace smelt::cli {
namespace {

using pipeline::InferenceTask;

// Number of batches between two checks for a signal.
constexpr std::int64_t kServedBatches = 16;
constexpr std::int64_t kMostServedBatch = std::int64_t{1} << 20;  // texts
constexpr const char* kRequestHint = "docs/reference/serve.md lists the fields of each request";

constexpr std::array<std::pair<const char*, InferenceTask>, 5> kServedTasks{
    {{"fill_mask", InferenceTask::fill_mask},
     {"classify", InferenceTask::classify},
     {"generate", InferenceTask::generate},
     {"detect", InferenceTask::detect},
     {"embed", InferenceTask::embed}}};

// Throws UsageError if the request has a field that is not in `known`, besides "id" and "do".
void check_request_fields(const io::JsonField& request, std::vector<std::string> known) {
  known.insert(known.end(), {"id", "do"});
  request.check_members("field", known);
}

// Returns a list of texts in NFC. Throws UsageError if the field is missing or another type.
std::vector<std::string> composed_texts(const io::JsonField& field) {
  if (field.is_null()) field.throw_unexpected(", expected a list of strings");
  std::vector<std::string> texts = field.as_texts();
  for (std::string& text : texts) text::to_nfc(text);
  return texts;
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

// Reads "batch_size". Throws UsageError if it is above kMostServedBatch, which would only use more
// memory.
std::int64_t batch_size_of(const io::JsonField& request, std::int64_t where_null) {
  const std::int64_t size = request["batch_size"].as_integer(where_null, 1);
  if (size > kMostServedBatch)
    request["batch_size"].throw_unexpected(str(", expected at most ", kMostServedBatch));
  return size;
}

// Reads "batch_size" and "no_answer_threshold".
execution::ClassifyOptions classify_options(const io::JsonField& request) {
  execution::ClassifyOptions options;
  options.batch_size = batch_size_of(request, options.batch_size);
  options.no_answer_threshold = request["no_answer_threshold"].as<double>(0.0);
  return options;
}

const std::vector<std::string> kGenerateFields{
    "model",          "texts",          "max_length", "min_length",  "beams", "answers",
    "length_penalty", "early_stopping", "sample",     "temperature", "top_k", "top_p",
    "max_inputs",     "batch_size",     "seed",       "prefix"};

execution::GenerateOptions generate_options(const io::JsonField& request) {
  execution::GenerateOptions out;
  model::Search& s = out.search;
  s.most_tokens = request["max_length"].as_integer(s.most_tokens, 1);
  s.least_tokens = request["min_length"].as_integer(s.least_tokens, 0);
  s.beams = request["beams"].as_integer(s.beams, 1);
  s.answers = request["answers"].as_integer(s.answers, 1);
  s.length_penalty = request["length_penalty"].as<double>(s.length_penalty);
  s.early_stop = choose_of("generate: early_stopping",
                           request["early_stopping"].as<std::string>("no"), model::kEarlyStops);
  s.sample = request["sample"].as_switch().value_or(false);
  s.temperature = request["temperature"].as<double>(s.temperature);
  s.top_k = request["top_k"].as_integer(s.top_k, 0);
  s.top_p = request["top_p"].as<double>(s.top_p);
  out.most_inputs = request["max_inputs"].as_integer(out.most_inputs, 2);
  out.batch_size = batch_size_of(request, out.batch_size);
  out.seed = request["seed"].as_number<std::int64_t>().value_or(out.seed);
  if (!request["prefix"].is_null()) out.prefix = request["prefix"].as<std::string>();
  out.hint = "lower batch_size, max_length, max_inputs or beams";
  out.inputs_name = "max_inputs";
  return out;
}

// Reads "pooling", "normalize" and "max_length".
pipeline::EmbedChoice embed_choice(const io::JsonField& request) {
  pipeline::EmbedChoice out;
  if (!request["pooling"].is_null())
    out.pooling = choose_of("embed: pooling", request["pooling"].as<std::string>(), io::kPoolings);
  out.normalize = request["normalize"].as_switch();
  out.max_length = request["max_length"].as_integer(0, 0);
  return out;
}

// Returns the tokens of a text with the probabilities that they were replaced; positions are in
// characters.
OrderedJson judged_tokens(const std::string& text,
                          const std::vector<execution::JudgedToken>& tokens) {
  std::vector<text::TokenSpan> spans;
  for (const execution::JudgedToken& token : tokens) spans.push_back(token.span);
  spans = text::in_characters(text, std::move(spans));
  OrderedJson out = OrderedJson::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const text::TokenSpan& bytes = tokens[i].span;
    out.push_back({{"text", text.substr(bytes.begin, bytes.end - bytes.begin)},
                   {"begin", spans[i].begin},
                   {"end", spans[i].end},
                   {"probability", to_f32_digits(tokens[i].probability)}});
  }
  return out;
}

// Returns the path of a model, with the commit if it is on the Hub. All files of a model then come
// from one commit. Each load looks up the newest commit.
std::string path_to_load(const io::JsonField& request) {
  const std::string path = io::model_path(request["path"].as<std::string>(), "load",
                                          request["directory"].as<std::string>(""));
  io::forget_hub_commits();
  return io::is_hub_path(path) ? io::hub_commit(io::parse_hub_path(path)).path.text() : path;
}

// Returns the words of a text with their labels; positions are in characters of `text`.
OrderedJson labelled_words(const std::string& text,
                           const std::vector<pipeline::TokenLabel>& labels) {
  const auto words = text::words_in(text);
  std::vector<text::TokenSpan> spans;
  for (const std::string_view word : words) {
    const auto begin = static_cast<std::size_t>(word.data() - text.data());
    spans.push_back({0, begin, begin + word.size()});
  }
  spans = text::in_characters(text, std::move(spans));
  OrderedJson out = OrderedJson::array();
  for (std::size_t i = 0; i < labels.size(); ++i)
    out.push_back({{"word", words[i]},
                   {"label", labels[i].label},
                   {"begin", spans[i].begin},
                   {"end", spans[i].end},
                   {"probability", to_f32_digits(labels[i].probability)}});
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

ServedAnswer ServedModels::load(const io::JsonField& request, const ServeProgress&) {
  check_request_fields(
      request, {"path", "directory", "device", "precision", "vocab", "batch_size", "max_length"});
  pipeline::LoadOptions options{.command = "load"};
  options.vocab = request["vocab"].as<std::string>("");
  options.device = pjrt::chosen_device(request["device"].as<std::string>("cpu"));
  (void)pjrt::open_device(options.device, 1);  // reports a missing device before the model is read
  options.precision =
      choose<std::string>("load: precision", request["precision"].as<std::string>("f32"),
                          {{"f32", "f32"}, {"f32_exact", "f32_exact"}});
  options.batch_size = batch_size_of(request, options.batch_size);
  options.max_length = request["max_length"].as_integer(options.max_length, 0);
  const std::string path = path_to_load(request);
  Model made{.loaded = pipeline::PretrainedModel::load(path, options)};
  ServedAnswer out;
  out.json["model"] = next_;
  out.json["path"] = path;
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

ServedAnswer ServedModels::close(const io::JsonField& request, const ServeProgress&) {
  check_request_fields(request, {"model"});
  (void)model_of(request);
  models_.erase(request["model"].as<std::int64_t>());
  return {};
}

ServedAnswer ServedModels::fill_mask(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request, {"model", "texts", "top"});
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  const std::int64_t top = request["top"].as_integer(5, 1);
  ServedAnswer out;
  OrderedJson& all = out.json["texts"] = OrderedJson::array();
  in_served_pieces(texts.size(), 256, progress, [&](std::size_t first, std::size_t count) {
    for (const auto& text : model.loaded.fill_mask(piece_of(texts, first, count), top))
      all.push_back(masks_json(text));
  });
  return out;
}

ServedAnswer ServedModels::detect(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request, {"model", "texts"});
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  ServedAnswer out;
  OrderedJson& all = out.json["texts"] = OrderedJson::array();
  in_served_pieces(texts.size(), 256, progress, [&](std::size_t first, std::size_t count) {
    const auto judged = model.loaded.detect(piece_of(texts, first, count));
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(judged_tokens(texts[first + i], judged[i]));
  });
  return out;
}

ServedAnswer ServedModels::embed(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request, {"model", "texts", "batch_size", "max_length", "dimensions",
                                 "pooling", "normalize"});
  Model& model = model_of(request);
  const auto texts = composed_texts(request["texts"]);
  const std::int64_t batch = batch_size_of(request, 32);
  const std::int64_t dimensions = request["dimensions"].as_integer(0, 0);
  const pipeline::EmbedChoice choice = embed_choice(request);
  if (!model.embedder || model.embed_choice != choice ||
      model.embedder->job().batch_size != batch) {
    model.embedder.emplace(model.loaded.text_embedder(batch, choice));
    model.embed_choice = choice;
  }
  execution::TextEmbedder& embedder = *model.embedder;
  const std::uint64_t before = embedder.cut();
  ServedAnswer out;
  ServedArray found{.name = "embeddings", .shape = {std::ssize(texts), 0}, .values = {}};
  in_served_pieces(
      texts.size(), static_cast<std::int64_t>(texts_per_call(batch)), progress,
      [&](std::size_t first, std::size_t count) {
        const auto rows =
            truncated_embeddings(embedder.embed(std::span(texts).subspan(first, count)), dimensions,
                                 embedder, "embed: dimensions");
        found.shape[1] = static_cast<std::int64_t>(rows.width);
        found.values.insert(found.values.end(), rows.values.begin(), rows.values.end());
      });
  out.json["truncated"] = embedder.cut() - before;
  warn_of_truncated(embedder.cut() - before, embedder, "embed");
  out.arrays.push_back(std::move(found));
  return out;
}

ServedAnswer ServedModels::classify(const io::JsonField& request, const ServeProgress& progress) {
  check_request_fields(request, {"model", "texts", "pairs", "batch_size"});
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
  check_request_fields(request, {"model", "texts", "batch_size"});
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
  check_request_fields(request,
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
  check_request_fields(request, kGenerateFields);
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
                                                           static_cast<std::int64_t>(first)))
          all.push_back(answers_json(answers));
      });
  return out;
}

ServedAnswer ServedModels::answer(const Json& request, const ServeProgress& progress) {
  using Method = ServedAnswer (ServedModels::*)(const io::JsonField&, const ServeProgress&);
  static constexpr std::array<std::pair<std::string_view, Method>, 9> kMethods{
      {{"load", &ServedModels::load},
       {"close", &ServedModels::close},
       {"fill_mask", &ServedModels::fill_mask},
       {"detect", &ServedModels::detect},
       {"embed", &ServedModels::embed},
       {"classify", &ServedModels::classify},
       {"token_labels", &ServedModels::token_labels},
       {"answer", &ServedModels::answer_question},
       {"generate", &ServedModels::generate}}};
  const std::string name = io::JsonField(request, "serve", kRequestHint)["do"].as<std::string>();
  const std::string where = str("serve: ", name);
  const Method method = choose_of("serve: request", name, kMethods);
  return (this->*method)(io::JsonField(request, where, kRequestHint), progress);
}

}  // namespace smelt::cli
