#include "checkpoint/interop/hugging_face_classifier.h"

#include <algorithm>

#include "base/error.h"
#include "checkpoint/interop/stored_family.h"
#include "io/formats/config.h"
#include "text/readers/unicode.h"

namespace smelt::checkpoint {
namespace {

constexpr NamedValues<io::Problem, 3> kProblemTypes{
    {{"single_label_classification", io::Problem::single_label},
     {"multi_label_classification", io::Problem::multi_label},
     {"regression", io::Problem::regression}}};

// transformers names a single output LABEL_0.
std::vector<std::string> output_names(const io::Labels& labels) {
  return io::is_number(labels.problem) ? std::vector<std::string>{"LABEL_0"} : labels.names;
}

// The field of config.json in which sentence-transformers 4 and 5 state the activation, and that of
// earlier versions.
constexpr const char *kLibrary = "sentence_transformers", *kActivation = "activation_fn",
                     *kOldActivation = "sbert_ce_default_activation_function";
constexpr const char* kSigmoid = "torch.nn.modules.activation.Sigmoid";
constexpr std::int64_t kMostLabels = 1'000'000;
constexpr const char *kNoAnswer = "no_answer", *kSeqLength = "seq_length", *kAnswers = "answers";

// Adds settings that transformers does not have and smelt needs for inference.
void put_limits(io::Problem problem, std::int64_t seq_length, const io::AnswerLimits& answers,
                Json& out) {
  if (seq_length > 0) out[kSeqLength] = seq_length;
  if (problem == io::Problem::answer_spans) out[kAnswers] = io::config_json(answers);
}

std::int64_t positive(const Json& value, const std::string& where, const std::string& name) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 1)
    throw UsageError(str(where, ": ", name, " is ", value.dump(), ", must be a positive integer"),
                     "correct it, or remove it");
  return value.get<std::int64_t>();
}

void put_head(const HuggingFaceClassifier& model, Json& config) {
  config["architectures"] = {classifier_class(model.encoder, model.labels.problem)};
  put_limits(model.labels.problem, model.seq_length, model.answers, config);
  if (model.labels.problem == io::Problem::answer_spans) {
    config[kNoAnswer] = model.labels.no_answer;
    return;
  }
  const auto names = output_names(model.labels);
  config["id2label"] = Json::object();
  config["label2id"] = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) {
    config["id2label"][std::to_string(i)] = names[i];
    config["label2id"][names[i]] = i;
  }
  if (model.labels.problem == io::Problem::rerank)
    config[kLibrary] = {{kActivation, kSigmoid}};
  else if (model.labels.problem != io::Problem::token_labels)
    config["problem_type"] = word_of(model.labels.problem, kProblemTypes);
  // Omitted if equal to the encoder's: TensorFlow's class of an ELECTRA cannot read another value
  // (transformers 4.57).
  if (model.dropout != model::encoder_sizes(model.encoder).hidden_dropout_prob)
    config[std::string(family_of_encoder(model::encoder_name(model.encoder)).dropout_field())] =
        model.dropout;
}

// Names of transformers' classes without the family's prefix.
constexpr const char *kOfTexts = "ForSequenceClassification", *kOfTokens = "ForTokenClassification",
                     *kOfAnswers = "ForQuestionAnswering";

std::string label_name(const Json& names, std::size_t i, const std::string& where) {
  const auto found = names.find(std::to_string(i));
  if (found == names.end() || !found->is_string())
    throw UsageError(str(where, ": id2label has no name for ", i),
                     "give a name for each number, starting at 0");
  return found->get<std::string>();
}

// Returns "id2label". If the config has none, returns "LABEL_0", "LABEL_1", ... for num_labels
// classes (default 2), as transformers does. Throws UsageError that begins with `where` unless
// num_labels is between 1 and kMostLabels.
Json label_names_in(const Json& config, const std::string& where) {
  if (const Json names = config.value("id2label", Json()); !names.is_null()) return names;
  const Json count = config.value("num_labels", Json(2));
  const std::int64_t labels = count.is_number_integer() ? count.get<std::int64_t>() : 0;
  if (labels < 1 || labels > kMostLabels)
    throw UsageError(str(where, ": num_labels is ", count.dump(), ", must be an integer from 1 to ",
                         kMostLabels),
                     "correct it, or name the classes in id2label");
  Json out = Json::object();
  for (std::int64_t i = 0; i < labels; ++i) out[std::to_string(i)] = str("LABEL_", i);
  return out;
}

io::Problem problem_in(const Json& config, std::size_t outputs, const std::string& where) {
  if (outputs == 1 && cross_encoder_activation(config) == "Sigmoid") return io::Problem::rerank;
  const std::string said = text_field(config, "problem_type", "", where);
  if (!said.empty()) return choose_of(str(where, ": problem_type"), said, kProblemTypes);
  return outputs == 1 ? io::Problem::regression : io::Problem::single_label;
}

}  // namespace

std::string cross_encoder_activation(const Json& config) {
  if (!config.is_object()) return "";
  Json path = config.value(kOldActivation, Json());
  if (const Json library = config.value(kLibrary, Json());
      library.is_object() && library.contains(kActivation))
    path = library[kActivation];
  if (!path.is_string()) return "";
  const auto name = path.get<std::string>();
  return name.substr(name.rfind('.') + 1);
}

std::string classifier_class(const model::Encoder& encoder, io::Problem problem) {
  const StoredFamily& family = family_of_encoder(model::encoder_name(encoder));
  return str(family.class_prefix(model::encoder_config_json(encoder)),
             problem == io::Problem::answer_spans   ? kOfAnswers
             : problem == io::Problem::token_labels ? kOfTokens
                                                    : kOfTexts);
}

void export_hugging_face(const std::string& folder, HuggingFaceClassifier model,
                         const io::LazyTensors& parameters, const FolderForm& form) {
  const bool is_answerer = model.labels.problem == io::Problem::answer_spans;
  // A token classifier has no pooler.
  std::vector<std::string_view> others{"cls/predictions/", "cls/seq_relationship/",
                                       "discriminator_predictions/", "bert/pooler/"};
  if (!is_answerer) others.insert(others.end(), {"cls/squad/", "qa_outputs/"});
  auto named = family_of_encoder(model::encoder_name(model.encoder))
                   .classifier(model.encoder, model.labels.problem,
                               is_answerer ? 0 : model.labels.outputs());
  put_head(model, named.config);
  const auto names = without_missing_parts(named.names, others, [&](const ParameterName& name) {
    return parameters.contains(name.original);
  });
  model.folder.config = std::move(named.config);
  const model::BertConfig sizes = model::encoder_sizes(model.encoder);
  model.folder.max_tokens = sizes.max_position_embeddings;
  // CrossEncoder truncates pairs to the tokenizer's maximum.
  if (model.labels.problem == io::Problem::rerank && model.seq_length > 0)
    model.folder.max_tokens = std::min(model.folder.max_tokens, model.seq_length);
  model.folder.reads_segments = sizes.reads_segments;
  write_model_folder(folder, model.folder, parameters, names, form);
}

std::vector<std::string> composed_labels(std::vector<std::string> names) {
  for (std::string& name : names) text::to_nfc(name);
  return names;
}

Json head_settings(const ClassifierHead& head) {
  Json out{{"problem", word_of(head.labels.problem, io::kProblems)},
           {"labels", head.labels.names},
           {"dropout", head.dropout}};
  if (head.labels.no_answer) out[kNoAnswer] = true;
  put_limits(head.labels.problem, head.seq_length, head.answers, out);
  return out;
}

void take_limits(const Json& settings, const std::string& where, ClassifierHead& head) {
  if (const auto found = settings.find(kSeqLength); found != settings.end())
    head.seq_length = positive(*found, where, kSeqLength);
  const auto found = settings.find(kAnswers);
  if (head.labels.problem != io::Problem::answer_spans || found == settings.end()) return;
  head.answers = io::parse_config<io::AnswerLimits>(*found, str(where, ": ", kAnswers));
  for (const auto& [name, value] : io::config_json(head.answers).items())
    (void)positive(value, where, str(kAnswers, ".", name));
}

std::optional<ClassifierHead> classifier_head(const Json& config, const std::string& where) {
  const Json classes = config.is_object() ? config.value("architectures", Json()) : Json();
  const auto is = [&](const char* kind) {
    return std::ranges::any_of(stored_families(), [&](const StoredFamily* family) {
      const std::string prefix = family->class_prefix(config);
      return !prefix.empty() && classes == Json::array({str(prefix, kind)});
    });
  };
  if (is(kOfAnswers)) {
    const Json no_answer = config.value(kNoAnswer, Json());
    ClassifierHead out{.labels = {.problem = io::Problem::answer_spans,
                                  .names = {},
                                  .no_answer = no_answer.is_boolean() && no_answer.get<bool>()},
                       .dropout = 0};
    take_limits(config, where, out);
    return out;
  }
  const bool of_tokens = is(kOfTokens);
  if (!of_tokens && !is(kOfTexts)) return std::nullopt;
  const Json names = label_names_in(config, where);
  if (!names.is_object() || names.empty())
    throw UsageError(str(where, ": id2label has no class names"), "give it a name for each number");
  ClassifierHead out;
  for (std::size_t i = 0; i < names.size(); ++i)
    out.labels.names.push_back(label_name(names, i, where));
  out.labels.names = composed_labels(std::move(out.labels.names));
  out.labels.problem =
      of_tokens ? io::Problem::token_labels : problem_in(config, names.size(), where);
  if (io::is_number(out.labels.problem)) out.labels.names.clear();
  const Json dropout =
      config.value(std::string(family_of_config(config, where).dropout_field()), Json());
  out.dropout = dropout.is_number() ? dropout.get<double>()
                                    : config.value("hidden_dropout_prob", out.dropout);
  take_limits(config, where, out);
  return out;
}

}  // namespace smelt::checkpoint
