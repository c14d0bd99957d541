// Implements StoredFamily for ELECTRA, whose Hugging Face folders are the discriminator's and the
// generator's, or only one of the two.
#include <iterator>
#include <optional>

#include "base/error.h"
#include "checkpoint/interop/hugging_face_electra.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "io/formats/json_difference.h"

namespace smelt::checkpoint {
namespace {

// Removes the generator's embeddings if they equal the discriminator's bit for bit, so that the
// model stores them once. A generator from its own folder always has separate embeddings. Returns
// whether they were tied.
bool tie_embeddings(io::LazyTensors& tensors) {
  const std::string own = "generator/embeddings/", shared = "electra/embeddings/";
  std::vector<std::string> names;
  for (auto it = tensors.lower_bound(own); it != tensors.end() && it->first.starts_with(own);
       ++it) {
    const auto other = tensors.find(shared + it->first.substr(own.size()));
    if (other == tensors.end() || other->second.shape != it->second.shape ||
        other->second.read() != it->second.read())
      return false;
    names.push_back(it->first);
  }
  for (const std::string& name : names) tensors.erase(name);
  return !names.empty();
}

model::ElectraConfig encoder_config(const ElectraPart& part) {
  const model::BertConfig& d = part.encoder;
  model::ElectraConfig c;
  c.vocab_size = d.vocab_size;
  c.embedding_size = part.embedding_size;
  c.hidden_size = d.hidden_size;
  c.num_hidden_layers = d.num_hidden_layers;
  c.num_attention_heads = d.num_attention_heads;
  c.attention_head_size = d.attention_head_size;
  c.intermediate_size = d.intermediate_size;
  c.hidden_act = d.hidden_act;
  c.hidden_dropout_prob = d.hidden_dropout_prob;
  c.attention_probs_dropout_prob = d.attention_probs_dropout_prob;
  c.max_position_embeddings = d.max_position_embeddings;
  c.type_vocab_size = d.type_vocab_size;
  c.initializer_range = d.initializer_range;
  return c;
}

// Throws UsageError if the generator's sizes differ from those that the ELECTRA config implies.
// Tensor shapes do not show all of these sizes, for example not the number of heads.
void check_generator(const model::ElectraConfig& c, const ElectraPart& generator,
                     const std::string& where) {
  if (const auto other =
          io::first_difference(electra_sizes(generator), electra_sizes(electra_generator_part(c))))
    throw UsageError(str(where, ": the generator's ", other->name, " is ", other->was.dump(),
                         ", must be ", other->is.dump(), " to fit this discriminator"),
                     "use each of the two folders separately");
}

Json electra_config_of(const ElectraPart& discriminator, const ElectraPart* generator, bool tied,
                       const std::string& where) {
  model::ElectraConfig c = encoder_config(discriminator);
  if (generator != nullptr) {
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    c.generator_layers = share(generator->encoder.num_hidden_layers, c.num_hidden_layers);
    c.generator_hidden_size = share(generator->encoder.hidden_size, c.hidden_size);
    c.untied_generator_embeddings = !tied;
    check_generator(c, *generator, where);
  }
  return io::config_json(c);
}

// Renames a generator's parameters to the discriminator's names, because these are the names of the
// only encoder of a masked LM. Returns the model's config.
Json take_as_masked_lm(const ElectraPart& generator, io::LazyTensors& tensors) {
  const std::string own = "generator/";
  io::LazyTensors renamed;
  for (const auto& [name, tensor] : tensors)
    renamed.emplace(name.starts_with(own) ? "electra/" + name.substr(own.size()) : name, tensor);
  tensors = std::move(renamed);
  model::ElectraConfig c = encoder_config(generator);
  c.untied_generator = false;
  return io::config_json(c);
}

model::ElectraConfig config_of_run(const Json& settings) {
  auto config = io::parse_config<model::ElectraConfig>(settings.at("model"), "init");
  const Json objective = settings.value("objective", Json::object());
  // A masked LM has one encoder.
  if (!objective.value("electra_objective", true) && !objective.value("electric_objective", false))
    config.untied_generator = false;
  return config;
}

// Returns the sizes in which the part differs from the model of a run with these settings. `alone`
// means that the pretrained model has only this part, not the other one.
std::vector<io::JsonDifference> other_sizes(const ElectraPart& part, bool alone,
                                            const Json& settings) {
  const model::ElectraConfig run = config_of_run(settings);
  const bool generator = part.head == ElectraPart::Head::generator;
  if (generator && !alone && !run.untied_generator) return {};  // the run does not use this encoder
  Json given = electra_sizes(part);
  given.erase("vocab_size");  // determined by the shape of the embeddings
  auto found = io::differences(
      given, electra_sizes(generator ? electra_generator_part(run) : electra_discriminator(run)));
  for (io::JsonDifference& d : found)
    d.name = str(generator ? "the generator's " : "the discriminator's ", d.name);
  return found;
}

void write_parts(const std::string& to, const StoredModel& model, const FolderForm& form) {
  ModelFolder folder;
  folder.vocab_txt = model.vocab_txt;
  folder.tokenizer = *model.tokenizer;
  const auto config = io::parse_config<model::ElectraConfig>(model.config, model.where);
  const auto has = [&](const char* name) { return model.tensors.contains(name); };
  const bool generator = has("generator_predictions/output_bias");
  // If there is no separate generator encoder, the generator uses the encoder in "electra/".
  model::ElectraConfig of_generator = config;
  const bool one_encoder = !has("generator/encoder/layer_0/output/dense/kernel");
  if (one_encoder) of_generator.untied_generator = false;
  const bool is_masked_lm =
      one_encoder && generator && !has("discriminator_predictions/dense/bias");
  const bool discriminator = has("electra/embeddings/word_embeddings") && !is_masked_lm;
  if (discriminator)
    export_hugging_face(io::join_path(to, "discriminator"), electra_discriminator(config), folder,
                        model.tensors, form);
  if (generator)
    export_hugging_face(io::join_path(to, "generator"), electra_generator_part(of_generator),
                        folder, model.tensors, form);
}

class ElectraFamily final : public StoredFamily {
 public:
  std::string_view name() const override { return "electra"; }
  std::vector<std::string_view> model_types() const override { return {"electra"}; }
  bool owns(const io::LazyTensors& tensors) const override {
    return any_begins(tensors, "electra/") || any_begins(tensors, "generator/");
  }
  bool has_encoder(const io::LazyTensors& tensors) const override {
    return any_begins(tensors, "electra/");
  }
  text::ControlCharacters control() const override { return text::ControlCharacters::electra; }
  bool is_auxiliary(const io::LazyTensors& tensors) const override {
    return any_begins(tensors, "generator_predictions/") &&
           !any_begins(tensors, "discriminator_predictions/");
  }

  Json with_sizes_of(const io::LazyTensors& tensors, Json config,
                     const std::string& where) const override {
    return with_electra_sizes(std::move(config), tensors, where);
  }
  void put_beside_config(const StoredModel& model, Json& file) const override {
    if (!model.objective.is_null() && model_type_of(model.tensors) == name())
      file["objective"] = model.objective;
  }

  void open(const std::vector<std::string>& folders, StoredModel& out) const override;
  void load(const std::string& folder, PretrainedWeights& out) const override;
  void write(const std::string& folder, const StoredModel& model,
             const FolderForm& form) const override {
    write_parts(folder, model, form);
  }

  std::string class_prefix(const Json&) const override { return "Electra"; }
  std::string class_bias(const io::LazyTensors& tensors, bool& of_tokens) const override {
    of_tokens = tensors.contains("classifier/bias");
    return of_tokens ? "classifier/bias" : "classifier/out_proj/bias";
  }
  NamedConfig classifier(const model::Encoder& encoder, io::Problem problem,
                         std::int64_t outputs) const override;

  std::string add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                            const std::string& x) const override;
  std::string word_head(const io::LazyTensors& tensors) const override {
    // If the generator has its own encoder, its head does not apply to the encoder in "electra/".
    const std::string head = "generator_predictions";
    const bool is_own = any_begins(tensors, "generator/");
    return !is_own && tensors.contains(head + "/output_bias") ? head : "";
  }
};

void ElectraFamily::open(const std::vector<std::string>& folders, StoredModel& out) const {
  std::optional<ElectraPart> discriminator, generator;
  for (const std::string& folder : folders) {
    const OpenedElectra electra = open_hugging_face_electra(folder);
    take_folder(electra.folder, out);
    (electra.part.head == ElectraPart::Head::generator ? generator : discriminator) = electra.part;
  }
  if (!discriminator) {
    if (generator) out.config = take_as_masked_lm(*generator, out.tensors);
    return;
  }
  const bool tied = tie_embeddings(out.tensors);
  out.config =
      electra_config_of(*discriminator, generator ? &*generator : nullptr, tied, out.where);
}

void ElectraFamily::load(const std::string& folder, PretrainedWeights& out) const {
  HuggingFaceElectra electra = import_hugging_face_electra(folder);
  ModelFolder model = std::move(electra.model);
  out.other_model = [part = electra.part, other = out.other_model](const auto& settings) {
    auto found = other ? other(settings) : std::vector<io::JsonDifference>();
    std::ranges::move(other_sizes(part, !other, settings), std::back_inserter(found));
    return found;
  };
  out.parameters.merge(model.parameters);
  out.owners.push_back(std::move(model.owner));
  out.vocab_txt = std::move(model.vocab_txt);
  out.else_under = {{"generator/", "electra/"}, {"generator/embeddings/", "electra/embeddings/"}};
}

StoredFamily::NamedConfig ElectraFamily::classifier(const model::Encoder& encoder,
                                                    io::Problem problem,
                                                    std::int64_t outputs) const {
  const auto config =
      io::parse_config<model::ElectraConfig>(model::encoder_config_json(encoder), "export");
  ElectraPart part = electra_discriminator(config);
  part.labels = outputs;
  part.of_tokens = problem == io::Problem::token_labels;
  return {electra_part_config(part, classifier_class(encoder, problem)), electra_names(part)};
}

std::string ElectraFamily::add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                                         const std::string& x) const {
  OnnxEncoder& encoder = parts.layers;
  if (problem == io::Problem::answer_spans) return encoder.dense("qa_outputs", x);
  if (problem == io::Problem::token_labels) return encoder.dense("classifier", x);
  const std::string hidden = encoder.activated(
      "gelu", encoder.dense("classifier/dense", encoder.first(x)), model::Gelu::erf);
  return encoder.dense("classifier/out_proj", hidden);
}

}  // namespace

void take_generator(StoredModel& model) {
  if (model_type_of(model.tensors) != "electra" || !has_generator(model.tensors)) return;
  const ElectraPart part =
      electra_generator_part(io::parse_config<model::ElectraConfig>(model.config, model.where));
  const std::string own = "electra/", shared = own + "embeddings/";
  std::erase_if(model.tensors, [&](const auto& item) {
    const bool is_shared = part.embeddings == "electra" && item.first.starts_with(shared);
    return (item.first.starts_with(own) && !is_shared) ||
           item.first.starts_with("discriminator_predictions/");
  });
  model.config = take_as_masked_lm(part, model.tensors);
}

const StoredFamily& electra_stored_family() {
  static const ElectraFamily kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
