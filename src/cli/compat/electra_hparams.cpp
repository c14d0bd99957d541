#include "cli/compat/electra_hparams.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/choice.h"
#include "base/log.h"
#include "base/plural.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"

namespace smelt::cli {
namespace {

constexpr const char* kHparams = "--hparams";
constexpr const char* kOverrides = "model_hparam_overrides";

// Returns the position of a byte as "line 2, column 7", both counted from 1.
std::string place_in(const std::string& text, std::size_t byte) {
  const std::string before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t start = newline == std::string::npos ? 0 : newline + 1;
  return str("line ", line, ", column ", before.size() - start + 1);
}

// Parses a JSON object and throws UsageError if a name is given twice (JSON parsers would silently
// use the last value).
Json parse_once_named(const std::string& text, const std::string& where) {
  return Json::parse(text, [&](int, const std::string& name) {
    throw UsageError(str(where, ": '", name, "' is given twice"), "give it once");
  });
}

Json parse_object(const std::string& given) {
  const bool is_path = given.ends_with(".json");
  const std::string text = is_path ? io::read_file(given, io::kSmallFileBytes) : given;
  const std::string where = is_path ? str(kHparams, " ", given) : kHparams;
  try {
    Json object = parse_once_named(text, where);
    if (object.is_object()) {
      object.erase(kContinuedFrom);  // the file may be one that a run has written
      return object;
    }
    throw UsageError(str(where, ": expected a JSON object, found ", object.type_name()),
                     R"(write {"name": value, …})");
  } catch (const JsonParseError& error) {
    if (!is_path && text.find('{') == std::string::npos && io::exists(text))
      throw UsageError(str(where, ": ", text, " is not JSON, and a file name must end in .json"),
                       "rename the file");
    throw UsageError(error.byte == 0 ? str(where, ": invalid JSON: ", error.what())
                                     : str(where, ": invalid JSON at ", place_in(text, error.byte)),
                     R"(write {"name": value, …} with these quotes, or a path that ends in .json)");
  } catch (const JsonRangeError& error) {
    throw UsageError(str(where, ": a number is out of range (", error.what(), ")"),
                     "correct the value");
  }
}

void check_known(const Json& object, const std::vector<io::ConfigField>& fields,
                 std::initializer_list<std::string> more, const std::string& where) {
  std::vector<std::string> known(more);
  for (const io::ConfigField& field : fields) known.push_back(field.name);
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(known, name) == known.end())
      throw UsageError(str(where, ": '", name, "' is unknown"), did_you_mean(name, known));
}

// Returns the object with null fields (Python's None) set to their defaults and with integer fields
// written as 1e6 converted to integers.
Json normal(Json object, const std::vector<io::ConfigField>& fields) {
  for (const char* name : {"embedding_size", "tpu_job_name", "tpu_name", "tpu_zone", "gcp_project"})
    if (object.contains(name) && object[name].is_null()) object.erase(name);
  if (object.contains("keep_checkpoint_max") && object["keep_checkpoint_max"].is_null())
    object["keep_checkpoint_max"] = 0;
  for (const io::ConfigField& field : fields) {
    const auto found = object.find(field.name);
    if (found == object.end() || !field.default_value.is_number_integer()) continue;
    if (!found->is_number_float()) continue;
    const double value = *found;
    if (value == std::floor(value) && std::abs(value) < 1e15)
      *found = static_cast<std::int64_t>(value);
  }
  return object;
}

// Throws UsageError if the name is not a path inside models/.
void check_model_name(const std::string& name) {
  const auto names_none = [](std::string_view part) {
    return part.empty() || part == "." || part == "..";
  };
  std::string_view path = name;
  if (path.ends_with('/')) path.remove_suffix(1);
  if (std::ranges::any_of(split(path, '/'), names_none))
    throw UsageError(str("--model-name '", name, "' is not the name of a folder in models/"),
                     "use a name such as small");
}

Json defaults(const std::string& data_dir, const std::string& model_name) {
  ElectraHparams h;
  h.pretrain_tfrecords = io::join_path(data_dir, "pretrain_tfrecords/pretrain_data.tfrecord*");
  h.vocab_file = io::join_path(data_dir, "vocab.txt");
  h.model_dir = io::join_path(io::join_path(data_dir, "models"), model_name);
  return io::config_json(h);
}

// Returns the values of the paper's Table 6 for the model_size; the original has them in a comment.
// embedding_size is not needed: 0 makes the embeddings as wide as the hidden states, as there.
Json paper_values(const Json& given) {
  const std::string size = given.value("model_size", "small");
  if (size == "base")
    return {{"max_seq_length", 512},
            {"learning_rate", 2e-4},
            {"generator_hidden_size", 0.33333},
            {"train_batch_size", 256}};
  if (size == "large")
    return {{"max_seq_length", 512},
            {"learning_rate", 2e-4},
            {"mask_prob", 0.25},
            {"train_batch_size", 2048}};
  return Json::object();
}

Json debug_values() {
  return {{"train_batch_size", 8},
          {"num_train_steps", 20},
          {"eval_batch_size", 4},
          {"iterations_per_loop", 1},
          {"num_eval_steps", 2}};
}

void check_ranges(const ElectraHparams& h, const Json& values) {
  const auto at_least = [&](const char* name, double least) {
    const double value = values.at(name);
    if (!(value >= least && std::isfinite(value)))
      throw UsageError(str(kHparams, ": ", name, " is ", value, ", must be at least ", least),
                       "correct the value");
  };
  for (const char* name :
       {"iterations_per_loop", "save_checkpoints_steps", "num_train_steps", "num_eval_steps",
        "vocab_size", "max_seq_length", "train_batch_size", "eval_batch_size", "num_tpu_cores"})
    at_least(name, 1);
  for (const char* name : {"learning_rate", "lr_decay_power", "weight_decay_rate",
                           "num_warmup_steps", "keep_checkpoint_max", "embedding_size"})
    at_least(name, 0);
  if (h.do_train == h.do_eval)
    throw UsageError(
        str(kHparams, ": do_train and do_eval are both ", h.do_train ? "true" : "false"),
        R"(set exactly one of them: {"do_train": false, "do_eval": true} evaluates)");
}

Json check_overrides(const Json& given) {
  const Json overrides = given.value(kOverrides, Json::object());
  const std::string where = str(kHparams, ": ", kOverrides);
  if (!overrides.is_object())
    throw UsageError(str(where, " is ", overrides.dump(), ", not an object"),
                     R"(write {"hidden_size": 128, …})");
  const auto fields = io::config_fields<model::BertConfig>();
  check_known(overrides, fields, {}, where);
  return normal(overrides, fields);
}

}  // namespace

ElectraRunConfig parse_electra_hparams(const std::string& text, const std::string& data_dir,
                                       const std::string& model_name) {
  check_model_name(model_name);
  const auto fields = io::config_fields<ElectraHparams>();
  const Json raw = parse_object(text);
  check_known(raw, fields, {kOverrides}, kHparams);
  const Json given = normal(raw, fields);
  io::parse_config<ElectraHparams>(given, kHparams);  // checks the types before values are used
  Json values = defaults(data_dir, model_name);
  choose<int>(str(kHparams, ": model_size"), given.value("model_size", "small"),
              {{"small", 0}, {"base", 1}, {"large", 2}});
  ElectraRunConfig out;
  const Json of_size = paper_values(given);
  values.update(of_size);
  if (given.value("debug", false)) values.update(debug_values());
  values.update(given);
  for (const auto& [name, value] : of_size.items())
    if (!given.contains(name) && values[name] == value)
      out.of_size.push_back(str(name, " ", value.dump()));
  out.hparams = io::parse_config<ElectraHparams>(values, kHparams);
  out.hparams.model_hparam_overrides = check_overrides(given);
  check_ranges(out.hparams, values);
  if (out.hparams.results_txt.empty())
    out.hparams.results_txt = io::join_path(out.hparams.model_dir, "results/unsup_results.txt");
  return out;
}

std::string saved_hparams_path(const std::string& model_dir) {
  return io::join_path(model_dir, "hparams.json");
}

text::Vocabulary electra_vocabulary(const ElectraHparams& h, std::int64_t vocab_size) {
  if (!io::exists(h.vocab_file)) io::throw_missing("vocab_file", h.vocab_file);
  text::Vocabulary vocabulary = text::Vocabulary::load(h.vocab_file);
  const std::int64_t lines = vocabulary.rows();
  if (vocab_size < lines)
    throw UsageError(str(kHparams, ": vocab_size is ", vocab_size, ", but ", h.vocab_file, " has ",
                         lines, " lines"),
                     str(R"(set "vocab_size": )", lines));
  if (vocab_size > lines)
    log_info("vocab_size {}: the last {} have no line in {}", vocab_size,
             counted(vocab_size - lines, "id"), h.vocab_file);
  return vocabulary;
}

model::ElectraTask electra_task_settings(const ElectraHparams& h) {
  Json model = {{"size", h.model_size},
                {"vocab_size", h.vocab_size},
                {"embedding_size", h.embedding_size},
                {"generator_layers", h.generator_layers},
                {"generator_hidden_size", h.generator_hidden_size},
                {"untied_generator", h.untied_generator},
                {"untied_generator_embeddings", h.untied_generator_embeddings}};
  model.update(h.model_hparam_overrides);
  if (h.debug)
    model.update({{"num_hidden_layers", 3},
                  {"hidden_size", 144},
                  {"intermediate_size", 144 * 4},
                  {"num_attention_heads", 4}});
  return {.model = io::parse_config<model::ElectraConfig>(model, str(kHparams, ": ", kOverrides)),
          .settings = h.objective,
          .seq_length = h.max_seq_length};
}

}  // namespace smelt::cli
