#include "checkpoint/interop/stored_family.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "checkpoint/interop/hugging_face.h"
#include "io/filesystem/path.h"
#include "model/models/families.h"
#include "text/tokenizers/tokenizer_config.h"

namespace smelt::checkpoint {

#define SMELT_DECLARE(name) const StoredFamily& name##_stored_family();
SMELT_MODEL_FAMILIES(SMELT_DECLARE, SMELT_DECLARE)
#undef SMELT_DECLARE

std::span<const StoredFamily* const> stored_families() {
#define SMELT_ENTRY(name) &name##_stored_family(),
  static const std::array kFamilies{SMELT_MODEL_FAMILIES(SMELT_ENTRY, SMELT_ENTRY)};
#undef SMELT_ENTRY
  return kFamilies;
}

const StoredFamily* find_stored_family(std::string_view name) {
  for (const StoredFamily* family : stored_families())
    if (family->name() == name) return family;
  return nullptr;
}

const StoredFamily& family_of_encoder(std::string_view name) {
  const StoredFamily* found = find_stored_family(name);
  CHECK(found != nullptr, name);
  return *found;
}

const StoredFamily& family_of_config(const Json& config, const std::string& where) {
  const std::string type = config.is_object() ? text_field(config, "model_type", "", where) : "";
  for (const StoredFamily* family : stored_families())
    if (std::ranges::count(family->model_types(), type) > 0) return *family;
  return family_of_encoder("bert");
}

const StoredFamily* family_of_tensors(const io::LazyTensors& tensors) {
  const std::string type = model_type_of(tensors);
  return find_stored_family(type == kClassifierType ? encoder_name_of(tensors) : type);
}

std::string readable_model_types() {
  std::vector<std::string> all;
  for (const StoredFamily* family : stored_families())
    for (const std::string_view type : family->model_types()) all.emplace_back(type);
  const std::string last = std::move(all.back());
  all.pop_back();
  return str(join(all, ", "), " or ", last);
}

bool is_encoder_decoder(const io::LazyTensors& tensors) {
  const StoredFamily* family = family_of_tensors(tensors);
  return family != nullptr && family->is_encoder_decoder();
}

bool any_begins(const io::LazyTensors& tensors, const std::string& prefix) {
  const auto found = tensors.lower_bound(prefix);
  return found != tensors.end() && found->first.starts_with(prefix);
}

// Throws BugError. The default implementations of functions that a family may not support call
// this. Callers of those functions check model_types() and has_encoder() first.
[[noreturn]] static void throw_lacks(const StoredFamily& family, const char* part) {
  throw BugError(str("the family ", family.name(), " has no ", part));
}

bool StoredFamily::has_encoder(const io::LazyTensors&) const { return false; }

std::string StoredFamily::config_file() const { return str(name(), "_config.json"); }

std::vector<std::string> StoredFamily::vocabulary_files(const std::string& folder) const {
  return {text::wordpiece_file_in(folder)};
}

Json StoredFamily::with_sizes_of(const io::LazyTensors&, Json config, const std::string&) const {
  return config;
}

Json StoredFamily::full_config(const Json& config, const std::string&) const { return config; }

void StoredFamily::put_beside_config(const StoredModel&, Json&) const {}

void StoredFamily::open(const std::vector<std::string>&, StoredModel&) const {
  throw_lacks(*this, "Hugging Face folder");
}

void StoredFamily::load(const std::string&, PretrainedWeights&) const {
  throw_lacks(*this, "Hugging Face folder");
}

void StoredFamily::write(const std::string&, const StoredModel&, const FolderForm&) const {
  throw_lacks(*this, "Hugging Face folder");
}

std::string StoredFamily::class_prefix(const Json&) const { return ""; }

std::string StoredFamily::class_bias(const io::LazyTensors&, bool&) const {
  throw_lacks(*this, "classifier");
}

StoredFamily::NamedConfig StoredFamily::classifier(const model::Encoder&, io::Problem,
                                                   std::int64_t) const {
  throw_lacks(*this, "classifier");
}

LayerModules StoredFamily::layer_modules(const Json&) const {
  return {
      .prefix = str(name(), ".encoder.layer."),
      .heads = {.output = "attention.output.dense",
                .inputs = {"attention.self.query", "attention.self.key", "attention.self.value"}},
      .neurons = {.output = "output.dense", .inputs = {"intermediate.dense"}}};
}

std::string StoredFamily::add_onnx_encoder(const OnnxModelParts& parts) const {
  return parts.layers.encoded(std::string(model::encoder_name(parts.model)), parts.sizes,
                              parts.inputs);
}

std::string StoredFamily::add_onnx_head(const OnnxModelParts&, io::Problem,
                                        const std::string&) const {
  throw_lacks(*this, "classifier");
}

std::string StoredFamily::word_head(const io::LazyTensors&) const { return ""; }

bool FolderFamily::owns(const io::LazyTensors& tensors) const {
  return any_begins(tensors, str(name(), "/"));
}

Json FolderFamily::full_config(const Json& config, const std::string& where) const {
  return model::encoder_config_json(model::parse_encoder(name(), config, where));
}

void FolderFamily::open(const std::vector<std::string>& folders, StoredModel& out) const {
  for (const std::string& folder : folders) {
    const OpenedFolder opened = open_folder(folder);
    take_folder(opened, out);
    out.config = opened.model.config;
  }
}

void FolderFamily::load(const std::string& folder, PretrainedWeights& out) const {
  ModelFolder model = held_folder(open_folder(folder));
  out.parameters.merge(model.parameters);
  out.model = std::move(model.config);
  out.owners.push_back(std::move(model.owner));
  out.vocab_txt = std::move(model.vocab_txt);
}

void FolderFamily::write(const std::string& folder, const StoredModel& model,
                         const FolderForm& form) const {
  const model::Encoder encoder = model::parse_encoder(name(), model.config, model.where);
  const auto names = without_missing_parts(
      masked_lm_names(encoder), heads(),
      [&](const ParameterName& one) { return model.tensors.contains(one.original); });
  const model::BertConfig sizes = model::encoder_sizes(encoder);
  const std::string class_name =
      class_prefix(model.config) + (word_head(model.tensors).empty() ? "Model" : "ForMaskedLM");
  write_model_folder(folder,
                     {.config = folder_config(encoder, class_name),
                      .parameters = {},
                      .vocab_txt = model.vocab_txt,
                      .tokenizer = *model.tokenizer,
                      .max_tokens = sizes.max_position_embeddings,
                      .reads_segments = sizes.reads_segments,
                      .owner = {}},
                     model.tensors, names, form);
}

}  // namespace smelt::checkpoint
