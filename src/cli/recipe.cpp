#include "cli/recipe.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/nearest_name.h"
#include "store/file.h"

namespace smelt {
namespace {

template <class R, class Visitor>
void visit_data_fields(R& r, Visitor&& visit) {
  visit("out", r.out, "folder that receives everything");
  visit("text.input", r.text.read.input,
        "raw text: files or patterns, comma separated; .gz and .zst are unpacked");
  visit("text.format", r.text.read.format.name,
        "text, jsonl, tsv or parquet; auto goes by each file's name");
  visit("text.field", r.text.read.format.field, "where the text is in JSONL, TSV and Parquet");
  visit("text.sentences", r.text.read.sentences,
        "prose: paragraphs to cut into sentences; lines: a sentence a line, an empty line after a "
        "document");
  visit("text.dedup", r.text.read.dedup,
        "what to leave out: none, lines (in prose: paragraphs) that stood before, exact or near "
        "duplicates of documents");
  visit("text.max_lines", r.text.read.max_lines, "read only so many lines (rows); 0: all");
  visit("text.heldout", r.text.heldout,
        "share of documents kept for evaluation, above 0, at most 0.5");
  visit("text.strict", r.text.read.strict,
        "refuse text that is not UTF-8 instead of leaving those bytes out");
  visit("vocab.size", r.vocab.size, "word pieces");
  visit("vocab.unused", r.vocab.unused,
        "of them [unusedN], for words to come (`smelt vocab extend`)");
  visit("vocab.lower_case", r.vocab.lower_case, "lower-case the text");
  visit("vocab.strip_accents", r.vocab.strip_accents,
        "true or false; auto: as vocab.lower_case says");
  visit("vocab.min_frequency", r.vocab.min_frequency,
        "occurrences below which a pair is not merged");
  visit("vocab.alphabet", r.vocab.alphabet, "most frequent characters kept");
  visit("data.seq_length", r.data.seq_length, "tokens per example");
  visit("data.max_predictions", r.data.max_predictions, "masked tokens per example, at most");
  visit("data.masked_lm_prob", r.data.masked_lm_prob, "share of tokens masked");
  visit("data.short_seq_prob", r.data.short_seq_prob, "share of documents with a shorter target");
  visit("data.dupe_factor", r.data.dupe_factor, "times each document is used, with other masks");
  visit("data.seed", r.data.seed, "random seed of the examples");
  visit("data.whole_word_mask", r.data.whole_word_mask, "mask all pieces of a word together");
  visit("data.next_sentence", r.data.next_sentence,
        "pairs of sentences and the task to tell whether they follow; false: runs of text and "
        "masks alone");
  visit("data.order", r.data.order,
        "shuffled: all cores, bounded memory; original: the original program's bytes");
}

template <class R, class Visitor>
void visit_model_fields(R& r, Visitor&& visit) {
  visit("model.vocab_size", r.model.vocab_size,
        "rows of the embedding; 0 = lines of the vocabulary");
  visit("model.hidden_size", r.model.hidden_size, "width of the encoder");
  visit("model.num_hidden_layers", r.model.num_hidden_layers, "encoder layers");
  visit("model.num_attention_heads", r.model.num_attention_heads, "heads per layer");
  visit("model.intermediate_size", r.model.intermediate_size, "width of the feed-forward layer");
  visit("model.hidden_act", r.model.hidden_act, "gelu (tanh approximation), relu, tanh or linear");
  visit("model.hidden_dropout_prob", r.model.hidden_dropout_prob, "dropout of hidden states");
  visit("model.attention_probs_dropout_prob", r.model.attention_probs_dropout_prob,
        "dropout of attention weights");
  visit("model.max_position_embeddings", r.model.max_position_embeddings,
        "longest sequence, tokens");
  visit("model.type_vocab_size", r.model.type_vocab_size, "kinds of segments");
  visit("model.initializer_range", r.model.initializer_range, "standard deviation of new weights");
}

template <class R, class Visitor>
void visit_train_fields(R& r, Visitor&& visit) {
  visit("train.device", r.train.device, "cpu, gpu or tpu");
  visit("train.devices", r.train.devices, "devices that share a batch");
  visit("train.batch_size", r.train.batch_size, "examples per step, over all devices");
  visit("train.steps", r.train.steps, "training steps in all");
  visit("train.learning_rate", r.train.learning_rate, "highest learning rate");
  visit("train.warmup_steps", r.train.warmup_steps, "steps of linear warm-up");
  visit("train.optimizer", r.train.optimizer,
        "bert_adamw (the original's, no bias correction) or adamw");
  visit("train.weight_decay", r.train.weight_decay, "decoupled weight decay");
  visit("train.clip_norm", r.train.clip_norm,
        "largest global norm of the gradient; 0 = no clipping");
  visit(
      "train.reduction", r.train.reduction,
      "global: clip the gradient of all devices; per_replica: the original's order, clip then sum");
  visit("train.seed", r.train.seed, "random seed of weights, dropout and data order");
  visit("train.save_every", r.train.save_every, "steps between checkpoints");
  visit("train.keep", r.train.keep, "checkpoints kept");
  visit("train.log_every", r.train.log_every, "steps between log lines");
  visit("eval.batch_size", r.eval.batch_size, "examples per evaluation batch");
  visit("eval.steps", r.eval.steps, "evaluation batches; 0 = all held-out examples");
}

// One place for names and help: visits every field with its path.
template <class R, class Visitor>
void visit_fields(R& r, Visitor&& visit) {
  visit_data_fields(r, visit);
  visit_model_fields(r, visit);
  visit_train_fields(r, visit);
}

template <class T>
constexpr const char* kind_of() {
  if constexpr (std::is_same_v<T, std::string>) return "a text";
  if constexpr (std::is_same_v<T, bool>) return "true or false";
  if constexpr (std::is_same_v<T, std::int64_t>) return "a whole number";
  return "a number";
}

// Leaf values by dotted path; a nested map is a section.
void flatten(const YAML::Node& node, const std::string& prefix, const std::string& where,
             std::map<std::string, YAML::Node>& out) {
  for (const auto& item : node) {
    const auto key = item.first.as<std::string>();
    const std::string path = prefix.empty() ? key : str(prefix, ".", key);
    if (item.second.IsMap())
      flatten(item.second, path, where, out);
    else if (item.second.IsScalar())
      out[path] = item.second;
    else
      throw UsageError(str(where, ": ", path, " is neither a value nor a section"),
                       "see `smelt help recipe` for the fields");
  }
}

void set_fields(Recipe& recipe, const std::map<std::string, YAML::Node>& values,
                const std::string& where) {
  std::vector<std::string> known;
  visit_fields(recipe, [&](const char* path, auto& field, const char*) {
    known.emplace_back(path);
    const auto found = values.find(path);
    if (found == values.end()) return;
    using T = std::decay_t<decltype(field)>;
    try {
      field = found->second.as<T>();
    } catch (const YAML::Exception&) {
      throw UsageError(
          str(where, ": ", path, " is '", found->second.Scalar(), "', not ", kind_of<T>()),
          "correct the value; `smelt help recipe` lists the fields");
    }
  });
  for (const auto& [path, value] : values)
    if (std::find(known.begin(), known.end(), path) == known.end()) {
      const auto nearest = nearest_name(path, known);
      throw UsageError(str(where, ": unknown field '", path, "'"),
                       nearest ? str("did you mean '", *nearest, "'?")
                               : std::string("`smelt help recipe` lists the fields"));
    }
}

YAML::Node parse_file(const std::string& path) try {
  return YAML::Load(read_file(path, kSmallFileBytes));
} catch (const YAML::ParserException& error) {
  throw UsageError(str(path, ":", error.mark.line + 1, ": not YAML: ", error.msg),
                   "mend that line; recipes/ holds examples");
}

void require(bool fine, const std::string& where, const std::string& what, const char* hint) {
  if (!fine) throw UsageError(str(where, ": ", what), hint);
}

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> known) {
  return std::ranges::find(known, value) != known.end();
}

void check_ranges(const Recipe& r, const std::string& where) {
  require(r.text.heldout > 0 && r.text.heldout <= 0.5, where,
          str("text.heldout is ", r.text.heldout, ", must be above 0 and at most 0.5"),
          "0.05 is usual");
  require(is_one_of(r.vocab.strip_accents, {"auto", "true", "false"}), where,
          str("vocab.strip_accents is '", r.vocab.strip_accents, "'"), "use true, false or auto");
  require(r.train.steps >= 1 && r.train.batch_size >= 1 && r.train.devices >= 1, where,
          str("train.steps ", r.train.steps, ", train.batch_size ", r.train.batch_size,
              ", train.devices ", r.train.devices, " must all be at least 1"),
          "correct the value");
  require(r.train.save_every >= 1 && r.train.log_every >= 1 && r.train.keep >= 1, where,
          "train.save_every, train.log_every and train.keep must be at least 1",
          "correct the value");
  require(is_one_of(r.train.optimizer, {"bert_adamw", "adamw"}), where,
          str("train.optimizer is '", r.train.optimizer, "'"), "use bert_adamw or adamw");
  require(is_one_of(r.train.reduction, {"global", "per_replica"}), where,
          str("train.reduction is '", r.train.reduction, "'"), "use global or per_replica");
  require(r.data.seq_length <= r.model.max_position_embeddings, where,
          str("data.seq_length ", r.data.seq_length,
              " is longer than model.max_position_embeddings ", r.model.max_position_embeddings),
          "shorten the sequences or raise model.max_position_embeddings");
  BertConfig model = r.model;
  if (model.vocab_size == 0) model.vocab_size = r.vocab.size;
  check_bert_config(model, str(where, ": model"));
}

}  // namespace

std::vector<RecipeField> recipe_fields() {
  std::vector<RecipeField> fields;
  const Recipe defaults;
  visit_fields(defaults, [&](const char* path, const auto& value, const char* help) {
    fields.push_back({path, nlohmann::json(value).dump(), help});
  });
  return fields;
}

Recipe load_recipe(const std::string& path, const std::vector<std::string>& settings) {
  Recipe recipe;
  std::map<std::string, YAML::Node> values;
  flatten(parse_file(path), "", path, values);
  set_fields(recipe, values, path);
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos)
      throw UsageError(str("--set ", setting, ": no '='"), "write --set train.steps=1000");
    set_fields(recipe, {{setting.substr(0, equals), YAML::Node(setting.substr(equals + 1))}},
               "--set");
  }
  check_ranges(recipe, path);
  return recipe;
}

nlohmann::json recipe_section(const Recipe& recipe, const std::string& section) {
  nlohmann::json json = nlohmann::json::object();
  visit_fields(recipe, [&](const std::string& path, const auto& value, const char*) {
    if (path.starts_with(section + ".")) json[path.substr(section.size() + 1)] = value;
  });
  return json;
}

}  // namespace smelt
