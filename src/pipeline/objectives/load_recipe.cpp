#include "pipeline/objectives/load_recipe.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "base/decimal.h"
#include "base/error.h"
#include "base/nearest_name.h"
#include "base/plural.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/model_path.h"
#include "io/filesystem/path.h"
#include "pipeline/config/epochs.h"
#include "pipeline/config/given_vocabulary.h"
#include "pipeline/config/kept_recipe.h"
#include "pipeline/config/recipe_checks.h"
#include "pipeline/config/recipe_sections.h"
#include "pipeline/config/run_length.h"
#include "pipeline/objectives/compress_checks.h"
#include "pipeline/objectives/objective_registry.h"
#include "pjrt/hardware.h"
#include "text/readers/unicode.h"
#include "text/tokenizers/segmenter.h"

namespace smelt::pipeline {
namespace {

constexpr std::string_view kPaths[] = {
    "out",        "text.input", "vocab.file", "train.init_from", "data.records",   "data.heldout",
    "data.train", "model.like", "data.test",  "data.validation", "distill.teacher"};
constexpr const char* kListsFields = "`smelt help recipe` lists the fields";

// A value as written, and its source.
struct Setting {  // NOLINT(bugprone-exception-escape): a moved YAML::Node may throw
  YAML::Node value;
  std::string origin;
};
using Settings = std::map<std::string, Setting>;  // by dotted path

// Adds the scalar values of `node` to `out` by dotted path; a nested map is a section. `lines` maps
// each path that was read so far to its line. Throws UsageError for duplicate paths and lists.
void flatten(const YAML::Node& node, const std::string& prefix, const std::string& where,
             std::map<std::string, int>& lines, Settings& out) {
  for (const auto& item : node) {
    const auto key = item.first.as<std::string>();
    const std::string path = prefix.empty() ? key : str(prefix, ".", key);
    const int line = item.first.Mark().line + 1;
    if (const auto [first, fresh] = lines.emplace(path, line); !fresh)
      throw UsageError(str(where, ":", line, ": ", path, " is already set on line ", first->second),
                       "remove one of the two");
    if (item.second.IsMap())
      flatten(item.second, path, where, lines, out);
    else if (item.second.IsScalar() && item.second.Tag().size() > 1)
      throw UsageError(str(where, ":", line, ": ", path, " begins with ", item.second.Tag(),
                           ", which YAML interprets as a tag"),
                       str("write the value in quotes: ", key, ": '", item.second.Tag(), " ",
                           item.second.Scalar(), "'"));
    else if (item.second.IsScalar())
      out[path] = {item.second, where};
    else if (item.second.IsSequence())
      throw UsageError(str(where, ":", line, ": ", path, " is a list, not one value"),
                       "write one value; names of several files with commas: a.txt,b.txt");
    else
      throw UsageError(str(where, ": ", path, " is neither a value nor a section"),
                       "see `smelt help recipe` for the fields");
  }
}

// Returns the correct form of a malformed setting, for a hint: "train.steps=10" for the words
// "train.steps", "=", "10" or for "train.steps:10"; "train.steps=…" for the field alone.
std::string setting_form(std::span<const std::string> words) {
  // Joins at most three words ("name", "=", "value"). Another word with '=' is the next setting.
  const auto other = std::ranges::find_if(words.subspan(1), [](const std::string& word) {
    return word.find('=', 1) != word.npos && word.find('.') < word.find('=');
  });
  const auto own = static_cast<std::size_t>(other - words.subspan(1).begin()) + 1;
  std::string text = join(words.first(std::min<std::size_t>(3, own)), "");
  const auto equals = text.find('=');
  if (const auto colon = words.front().find(':'); equals == std::string::npos &&
                                                  colon != std::string::npos && colon > 0 &&
                                                  colon + 1 < words.front().size())
    return str(words.front().substr(0, colon), "=", trim(words.front().substr(colon + 1)));
  if (equals == std::string::npos) return str(words.front(), "=…, without spaces around '='");
  return equals == 0 || equals + 1 == text.size() ? "train.steps=1000" : text;
}

// Expands "~/mine" as a shell does in an unquoted word.
std::string expanded_home(const std::string& path, const std::string& where) {
  if (!path.starts_with('~')) return path;
  const char* home = std::getenv("HOME");
  if ((path.size() > 1 && path[1] != '/') || home == nullptr || *home == '\0')
    throw UsageError(str(where, " is '", path, "', but '~' cannot be expanded"),
                     "write the full path");
  return home + path.substr(1);
}

std::string without_yaml(const std::string& name) {
  return name.ends_with(".yaml") ? name.substr(0, name.size() - 5) : name;
}

// Throws an error that suggests recipes and run folders with similar names, next to the path and in
// recipes/.
[[noreturn]] void throw_no_recipe(const std::string& given) {
  std::vector<std::string> known;
  const std::string beside = io::parent_path(given);
  for (const std::string& folder :
       {beside.empty() ? std::string(".") : beside, std::string("recipes")}) {
    if (!io::is_folder(folder)) continue;
    for (const std::string& name : io::list_folder(folder))
      if (const std::string path = folder == "." ? name : io::join_path(folder, name);
          name.ends_with(".yaml") || run_named_by(path) == path)
        known.push_back(path);
  }
  std::vector<std::string> names;
  for (const std::string& path : known) names.push_back(without_yaml(io::path_name(path)));
  const auto nearest = nearest_name(without_yaml(io::path_name(given)), names);
  throw UsageError(
      str(given, ": no such recipe file or run folder"),
      nearest
          ? str("did you mean '",
                known[static_cast<std::size_t>(std::ranges::find(names, *nearest) - names.begin())],
                "'?")
          : "check the path. `smelt new` writes a recipe; for a model on the Hugging Face Hub "
            "write "
            "ORGANIZATION/NAME");
}

// Throws UsageError that names the first line that is not UTF-8.
void check_encoding(const std::string& path, const std::string& text) {
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    std::size_t dropped = 0;
    (void)text::decode_utf8_ignore(line, &dropped);
    if (dropped > 0)
      throw UsageError(str(path, ":", number, ": not UTF-8 (", counted(dropped, "byte"), ")"),
                       "save the file as UTF-8");
  }
}

void add_settings(const std::vector<std::string>& over, Settings& out) {
  for (std::size_t i = 0; i < over.size(); ++i) {
    const std::string& setting = over[i];
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError(str("--set ", setting, ": no ", equals == 0 ? "field" : "'='"),
                       str("write --set ", setting_form(std::span(over).subspan(i))));
    out[setting.substr(0, equals)] = {YAML::Node(setting.substr(equals + 1)), "--set"};
  }
}

bool is_named_as_yaml(const std::string& path) {
  return path.ends_with(".yaml") || path.ends_with(".yml");
}

// Throws for a file without fields, such as a text file in place of a recipe.
[[noreturn]] void throw_no_fields(const std::string& path) {
  if (is_named_as_yaml(path))
    throw UsageError(str(path, ": not a recipe: it has no fields at the top level"),
                     "see the examples in recipes/");
  throw UsageError(
      str(path, " is neither a recipe nor a model"),
      "name a recipe (YAML) or a model's folder; pass text with --text or --set text.input=");
}

// Returns the first line that is indented by a tab, from 1.
std::optional<std::size_t> line_with_tab(const std::string& text) {
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::size_t word = line.find_first_not_of(" \t");
    if (line.substr(0, std::min(word, line.size())).find('\t') != line.npos) return number;
  }
  return std::nullopt;
}

[[noreturn]] void throw_not_yaml(const std::string& path, const std::string& text,
                                 const YAML::Exception& error) {
  if (!is_named_as_yaml(path)) throw_no_fields(path);
  if (const auto line = line_with_tab(text))
    throw UsageError(str(path, ":", *line,
                         ": a tab at the beginning of the line: YAML is indented "
                         "by spaces only"),
                     "replace the tab by two spaces");
  throw UsageError(str(path, ":", error.mark.line + 1, ": not YAML: ", error.msg),
                   "correct that line; see the examples in recipes/");
}

Settings read_settings(const std::string& path, const std::vector<std::string>& over) {
  Settings out;
  if (io::is_folder(path) && io::exists(kept_recipe_path(path)))
    throw UsageError(
        str(path, ": contains recipe.yaml but not .stages, so the finished stages are not known"),
        str("`smelt run ", kept_recipe_path(path),
            " --set out=…` starts a new run in another folder"));
  if (io::is_folder(path))
    throw UsageError(str(path, ": the folder contains no recipe.yaml of a run"),
                     "name a run's folder or a recipe file; see the examples in recipes/");
  const std::string text = io::read_file(path, io::kSmallFileBytes);
  if (trim(text).empty() && over.empty())
    throw UsageError(str(path, ": the file is empty"),
                     str("write a recipe: smelt new bert --input 'text/*.txt' > ", path));
  if (is_named_as_yaml(path)) check_encoding(path, text);
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap() && !(root.IsNull() && is_named_as_yaml(path))) throw_no_fields(path);
    std::map<std::string, int> lines;
    flatten(root, "", path, lines, out);
  } catch (const YAML::Exception& error) {
    throw_not_yaml(path, text, error);
  }
  add_settings(over, out);
  return out;
}

// Converts the value to the type of the field's default.
Json converted(const Setting& setting, const std::string& path, const io::ConfigField& field) {
  const Json& default_value = field.default_value;
  try {
    if (default_value.is_string()) {
      const auto text = setting.value.as<std::string>();
      const auto& known = field.choices;
      if (!known.empty() && std::ranges::find(known, text) == known.end())
        throw UsageError(str(setting.origin, ": ", path, " is '", text, "'"),
                         did_you_mean(text, known));
      const bool is_path = std::ranges::find(kPaths, path) != std::end(kPaths);
      return is_path ? expanded_home(text, str(setting.origin, ": ", path)) : text;
    }
    if (default_value.is_boolean()) return setting.value.as<bool>();
    if (default_value.is_number_integer()) {  // yaml-cpp would read "010" as 8
      if (const auto whole = parse_whole_number(setting.value.Scalar())) return *whole;
      return YAML::Node(without_leading_zeros(setting.value.Scalar())).as<std::int64_t>();
    }
    return setting.value.as<double>();
  } catch (const YAML::Exception&) {
    throw UsageError(str(setting.origin, ": ", path, " is '", setting.value.Scalar(), "', not ",
                         io::kind_name(default_value)),
                     str("correct the value; ", kListsFields));
  }
}

using Sections = std::vector<std::pair<std::string, std::vector<io::ConfigField>>>;

// Returns all sections of a type's recipe. Section "" contains the fields outside of sections.
Sections sections_of(const ObjectiveType& type) {
  const std::vector<io::ConfigField> top{{"out", Recipe().out, "output folder of the run"}};
  std::vector<io::ConfigField> data = io::config_fields<ReadySection>();
  data.insert(data.end(), type.data.begin(), type.data.end());
  std::vector<io::ConfigField> model{{"type", type.name, str("kind of model: ", type.help)}};
  model.insert(model.end(), type.model.begin(), type.model.end());
  Sections out{{"", top},
               {"text", io::config_fields<TextSection>()},
               {"vocab", io::config_fields<VocabSection>()},
               {"data", data},
               {"model", model},
               {"train", io::config_fields<train::TrainConfig>()},
               {"eval", io::config_fields<EvalSection>()},
               {"track", io::config_fields<TrackSection>()},
               {"distill", io::config_fields<DistillSection>()}};
  if (type.write_rows) out.emplace_back("compress", io::config_fields<CompressSection>());
  return out;
}

std::string path_of(const std::string& section, const std::string& name) {
  return section.empty() ? name : str(section, ".", name);
}

// Field names for the argument names of Hugging Face's Trainer and its scripts, and for common
// abbreviations, in the form to print in a message.
const std::map<std::string_view, std::string_view> kNamesElsewhere{
    {"lr", "train.optimizer.learning_rate"},
    {"batch", "train.batch_size"},
    {"num_epochs", "train.epochs"},
    {"num_train_epochs", "train.epochs"},
    {"max_steps", "train.steps"},
    {"num_train_steps", "train.steps"},
    {"per_device_train_batch_size", "train.batch_size (over all train.devices)"},
    {"train_batch_size", "train.batch_size"},
    {"per_device_eval_batch_size", "eval.batch_size (over all train.devices)"},
    {"eval_batch_size", "eval.batch_size"},
    {"bf16", "train.precision.compute=bf16"},
    {"fp16", "train.precision.compute=bf16 (fp16 is not supported)"},
    {"tf32", "train.precision.compute=f32 (f32_exact for no tf32)"},
    {"lr_scheduler_type", "train.schedule.type"},
    {"scheduler", "train.schedule.type"},
    {"num_warmup_steps", "train.schedule.warmup_steps"},
    {"max_seq_length", "data.seq_length"},
    {"max_length", "data.seq_length"},
    {"block_size", "data.seq_length"},
    {"max_source_length", "data.inputs_length"},
    {"max_target_length", "data.targets_length"},
    {"mlm_probability", "data.masked_lm_prob"},
    {"max_grad_norm", "train.optimizer.clip_norm"},
    {"adam_beta1", "train.optimizer.beta1"},
    {"adam_beta2", "train.optimizer.beta2"},
    {"optim", "train.optimizer.type"},
    {"save_steps", "train.checkpoint.save_interval_steps"},
    {"save_total_limit", "train.checkpoint.max_to_keep"},
    {"metric_for_best_model", "train.checkpoint.best_metric"},
    {"load_best_model_at_end", "eval.best"},
    {"early_stopping_patience", "train.early_stopping.patience"},
    {"eval_steps", "eval.every"},
    {"logging_steps", "train.logging_steps"},
    {"label_smoothing_factor", "train.label_smoothing"},
    {"weight", "train.class_weights"},
    {"gradient_checkpointing", "train.memory.remat_policy=layer"},
    {"output_dir", "out"},
    {"model_name_or_path", "train.init_from"},
    {"model_name", "train.init_from"},
    {"tokenizer_name", "vocab.file"},
    {"vocab_size", "vocab.size"},
    {"train_file", "data.train, or text.input for plain text"},
    {"validation_file", "data.validation"},
    {"test_file", "data.test"}};

// Former names of fields of train:.
const std::map<std::string_view, std::string_view> kFormerNames{
    {"adafactor_clip", "optimizer.adafactor_clip"},
    {"adafactor_exponent", "optimizer.adafactor_exponent"},
    {"adafactor_momentum", "optimizer.adafactor_momentum"},
    {"adafactor_scaled", "optimizer.adafactor_scaled"},
    {"amos_preset", "optimizer.amos_preset"},
    {"attention_rows", "memory.attention_rows"},
    {"beta", "optimizer.beta2"},
    {"clip_norm", "optimizer.clip_norm"},
    {"clip_value", "optimizer.clip_value"},
    {"decay_form", "schedule.decay_type"},
    {"decay_power", "schedule.power"},
    {"decay_ratio", "schedule.decay_ratio"},
    {"decay_rules", "optimizer.decay_rules"},
    {"decay_steps", "schedule.decay_steps"},
    {"decay_to_step", "schedule.decay_to_step"},
    {"end_factor", "schedule.min_lr_rate"},
    {"eta_rules", "optimizer.eta_rules"},
    {"init", "init_from"},
    {"keep", "checkpoint.max_to_keep"},
    {"keep_best", "checkpoint.best_metric"},
    {"keep_every", "checkpoint.keep_period"},
    {"layer_decay", "optimizer.layer_decay"},
    {"layers", "memory.layers"},
    {"learning_rate", "optimizer.learning_rate"},
    {"log_every", "logging_steps"},
    {"logits_mb", "memory.logits_mb"},
    {"mesh", "parallelism.mesh"},
    {"mesh_rules", "parallelism.rules"},
    {"micro_batches", "gradient_accumulation_steps"},
    {"momentum", "optimizer.beta1"},
    {"nm", "pruning.nm"},
    {"optimizer", "optimizer.type"},
    {"patience", "early_stopping.patience"},
    {"precision", "precision.compute"},
    {"prune_by", "pruning.method"},
    {"prune_penalty", "pruning.penalty"},
    {"prune_rate", "pruning.score_learning_rate"},
    {"rate_rules", "optimizer.rate_rules"},
    {"reduction", "parallelism.reduction"},
    {"rewind_skip", "loss_spike.skip_batches"},
    {"save", "memory.remat_policy"},
    {"save_every", "checkpoint.save_interval_steps"},
    {"save_minutes", "checkpoint.save_interval_minutes"},
    {"schedule", "schedule.type"},
    {"slot_rules", "optimizer.slot_rules"},
    {"sparsity", "pruning.sparsity"},
    {"tokens", "length"},
    {"spike_action", "loss_spike.action"},
    {"spike_sigmas", "loss_spike.sigmas"},
    {"spike_window", "loss_spike.window"},
    {"split_slots", "parallelism.shard_optimizer_state"},
    {"trust_norm", "optimizer.trust_norm"},
    {"warmup_form", "schedule.warmup_form"},
    {"warmup_ratio", "schedule.warmup_ratio"},
    {"warmup_steps", "schedule.warmup_steps"},
    {"weight_decay", "optimizer.weight_decay"}};

// Returns the present path of a former field of train: "train.checkpoint.max_to_keep" for "keep";
// empty if there never was such a field.
std::string formerly_named(std::string_view name) {
  const auto found = kFormerNames.find(name);
  return found == kFormerNames.end() ? std::string() : str("train.", found->second);
}

// Returns the paths of the known fields in a section.
std::vector<std::string> fields_of(const std::string& section,
                                   const std::vector<std::string>& known) {
  std::vector<std::string> out;
  for (const std::string& field : known)
    if (field.starts_with(section + ".")) out.push_back(field);
  return out;
}

// Returns the field for a name that other programs use: "train.optimizer.learning_rate" for "lr";
// empty if unknown.
std::string known_elsewhere_as(std::string_view name) {
  const auto found = kNamesElsewhere.find(name);
  return found == kNamesElsewhere.end() ? std::string() : std::string(found->second);
}

void check_names(const Settings& settings, const Sections& sections) {
  std::vector<std::string> known;
  for (const auto& [section, fields] : sections)
    for (const io::ConfigField& field : fields) known.push_back(path_of(section, field.name));
  for (const auto& [path, setting] : settings)
    if (std::ranges::find(known, path) == known.end()) {
      throw UsageError(str(setting.origin, ": unknown field '", path, "'"),
                       unknown_field_hint(path, known));
    }
}

std::string type_name(const Settings& settings) {
  const auto found = settings.find("model.type");
  return found == settings.end() ? "bert" : found->second.value.Scalar();
}

// Adds values for unset fields that follow from the set ones (ObjectiveType::preset).
void add_preset(const ObjectiveType& type, const std::string& origin, Settings& settings) {
  if (!type.preset) return;
  FieldValues set;
  for (const auto& [field, setting] : settings) set[field] = setting.value.Scalar();
  for (const auto& [field, value] : type.preset(set))
    settings.emplace(field, Setting{YAML::Node(value), origin});
}

// Sets vocab.lower_case, vocab.strip_accents and vocab.alphabet to the values in the run's stored
// recipe if `r` does not set them, so that a run can resume after their defaults have changed.
void keep_stored_defaults(Recipe& r) {
  if (r.anew || io::is_remote(r.out) || !run_named_by(r.out)) return;
  const std::string file = kept_recipe_path(r.out);
  const YAML::Node kept = YAML::Load(io::read_file(file, io::kSmallFileBytes))["vocab"];
  if (!kept || !kept.IsMap()) return;
  Json& vocab = r.sections["vocab"];
  for (const char* field : {"lower_case", "strip_accents", "alphabet"}) {
    const std::string at = path_of("vocab", field);
    if (r.is_set(at) || !kept[field]) continue;
    const Json value = converted(Setting{kept[field], file}, at, {field, vocab[field], "", {}});
    if (value == vocab[field]) continue;
    vocab[field] = value;
    // An existing vocabulary keeps its own settings.
    const bool is_given = !vocab["file"].get<std::string>().empty() ||
                          !r.sections["train"]["init_from"].get<std::string>().empty();
    if (!is_given) r.set.insert(at);
  }
}

// Sets each field of the recipe to its value in `settings` or to its default. `path` is the file of
// the settings.
void set_fields(const Settings& settings, const std::string& path, const Sections& sections,
                Recipe& recipe) {
  for (const auto& [section, fields] : sections) {
    Json& object = recipe.sections[section];
    for (const io::ConfigField& field : fields) {
      const std::string at = path_of(section, field.name);
      const auto set = settings.find(at);
      recipe.defaults[section][field.name] = field.default_value;
      object[field.name] =
          set == settings.end() ? field.default_value : converted(set->second, at, field);
      if (set != settings.end()) recipe.set.insert(at);
      recipe.origins[at] = set == settings.end() ? path : set->second.origin;
    }
  }
}

// Replaces ORG/NAME by hf://ORG/NAME in fields that name a model, if there is no such folder here.
void find_models(Settings& settings) {
  for (const char* field : {"train.init_from", "distill.teacher", "model.like"})
    if (const auto found = settings.find(field);
        found != settings.end() && found->second.value.IsScalar())
      found->second.value = YAML::Node(io::model_path(found->second.value.Scalar(), field));
}

Recipe recipe_of_settings(Settings settings, const std::string& path, bool anew) {
  const auto type = settings.find("model.type");
  Recipe recipe;
  recipe.anew = anew;
  recipe.type =
      &objective_type(type_name(settings), type == settings.end() ? path : type->second.origin);
  find_models(settings);
  add_preset(*recipe.type, path, settings);
  const Sections sections = sections_of(*recipe.type);
  check_names(settings, sections);
  set_fields(settings, path, sections, recipe);
  recipe.out = recipe.sections[""]["out"];
  keep_stored_defaults(recipe);
  recipe.text = io::parse_config<TextSection>(recipe.sections["text"], path);
  recipe.vocab = io::parse_config<VocabSection>(recipe.sections["vocab"], path);
  // A model that is fine-tuned on rows has the vocabulary of its pretrained model.
  if (recipe.type->reads == Reads::rows && recipe.type->sentencepiece)
    recipe.vocab.type = "unigram";
  recipe.ready = io::parse_config<ReadySection>(recipe.sections["data"], path);
  prefer_settings(recipe);
  recipe.train = io::parse_config<train::TrainConfig>(recipe.sections["train"], path);
  recipe.train.device = pjrt::chosen_device(recipe.train.device);
  recipe.eval = io::parse_config<EvalSection>(recipe.sections["eval"], path);
  recipe.track = io::parse_config<TrackSection>(recipe.sections["track"], path);
  recipe.distill = io::parse_config<DistillSection>(recipe.sections["distill"], path);
  if (recipe.type->write_rows)
    recipe.compress = io::parse_config<CompressSection>(recipe.sections["compress"], path);
  recipe.model = recipe.sections["model"];
  recipe.data = recipe.sections["data"];
  set_vocabulary_type(recipe);
  set_run_length(recipe);
  check_sections(recipe);
  check_compress(recipe);
  recipe.type->check(recipe);
  return with_epochs(std::move(recipe));
}

// Returns the fields below the path's section whose own names are nearest to the path's:
// "train.optimizer.eta_rules" for "train.eta_rule". Empty if none is near.
std::vector<std::string> nearest_in_section(const std::string& path,
                                            const std::vector<std::string>& known) {
  const std::size_t dot = path.rfind('.');
  if (dot == path.npos) return {};
  std::vector<std::string> names, out;
  const auto own_name = [](const std::string& field) { return field.substr(field.rfind('.') + 1); };
  const auto is_below = [&](const std::string& field) {
    return field.starts_with(path.substr(0, dot + 1));
  };
  for (const std::string& field : known)
    if (is_below(field)) names.push_back(own_name(field));
  const auto nearest = nearest_name(path.substr(dot + 1), names);
  for (const std::string& field : known)
    if (nearest && is_below(field) && own_name(field) == *nearest) out.push_back(field);
  return out;
}

}  // namespace

std::string unknown_field_hint(const std::string& path, const std::vector<std::string>& known) {
  const std::string name = path.substr(path.rfind('.') + 1);
  const std::string now = formerly_named(name);
  if (path == "train." + name && !now.empty()) return str("did you mean '", now, "'?");
  if (const auto fields = fields_of(path, known); !fields.empty())
    return str("it is a section; did you mean '", fields.front(), "'?");
  std::vector<std::string> meant;
  for (const std::string& field : known)
    if (field.ends_with("." + name) && (name == path || field != path)) meant.push_back(field);
  if (meant.empty() && name == path && !now.empty()) meant = {now};
  if (meant.empty() || name != path)
    if (const std::string elsewhere = known_elsewhere_as(name); !elsewhere.empty())
      return str("this is ", elsewhere);
  if (name != path) {
    if (const auto nearest = nearest_name(path, known)) meant = {*nearest};
  } else if (const auto nearest = nearest_name(path, known); meant.empty() && nearest) {
    meant.push_back(*nearest);
  }
  if (meant.empty()) meant = nearest_in_section(path, known);
  return meant.empty() ? kListsFields : str("did you mean '", join(meant, "' or '"), "'?");
}

std::vector<RecipeField> recipe_fields(const std::string& type) {
  std::vector<RecipeField> out;
  for (const auto& [section, fields] : sections_of(objective_type(type, "help")))
    for (const io::ConfigField& field : fields)
      out.push_back(
          {path_of(section, field.name), field.default_value.dump(), field.help, field.choices});
  return out;
}

Recipe load_recipe(const std::string& given, const std::vector<std::string>& over, bool anew) {
  const auto run = run_named_by(given);
  const std::string path = run ? kept_recipe_path(*run) : given;
  if (!io::is_remote(path) && !io::exists(path)) throw_no_recipe(path);
  Settings settings = read_settings(path, over);
  // The stored `out` is wrong if the run's folder was moved.
  if (run && settings["out"].origin != "--set") settings["out"] = {YAML::Node(*run), path};
  Recipe recipe = recipe_of_settings(std::move(settings), path, anew);
  // Only a file or setting that the user chose is trusted; a run's folder may come from anyone.
  if (!run || !io::is_folder(given) || recipe.origins.at("vocab.segment_command") == "--set")
    allow_segment_command(recipe);
  return recipe;
}

void allow_segment_command(const Recipe& recipe) {
  const std::string& command = recipe.vocab.segment_command;
  if (!command.empty() && command != text::kNoSegmentCommand) text::allow_segment_command(command);
}

void try_segment_command(const Recipe& recipe) {
  const std::string& command = recipe.vocab.segment_command;
  if (!command.empty() && command != text::kNoSegmentCommand)
    text::Segmenter::of(command)->try_out();
}

Recipe recipe_of(const FieldValues& fields, const std::string& origin,
                 const std::vector<std::string>& over, bool anew) {
  Settings settings;
  for (const auto& [field, value] : fields) settings[field] = {YAML::Node(value), origin};
  add_settings(over, settings);
  Recipe recipe = recipe_of_settings(std::move(settings), origin, anew);
  allow_segment_command(recipe);
  return recipe;
}

}  // namespace smelt::pipeline
