#include "checkpoint/interop/onnx_model.h"

#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "checkpoint/interop/int4_weights.h"
#include "checkpoint/interop/model_folder.h"
#include "checkpoint/interop/onnx_encoder.h"
#include "checkpoint/interop/onnx_t5.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/sentence_transformers.h"
#include "checkpoint/interop/stored_classifier.h"
#include "checkpoint/interop/stored_family.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/config.h"
#include "model/models/classifier.h"
#include "model/nn/state_names.h"

namespace smelt::checkpoint {
namespace {

const std::vector<std::string> kTokens{"batch", "sequence"};
constexpr const char *kFillMask = "fill-mask", *kFeatures = "feature-extraction",
                     *kEmbedding = "sentence-similarity", *kText2Text = "text2text-generation";
// Files of a Hugging Face folder that programs expect next to its ONNX files.
constexpr std::array kBeside{"config.json",
                             "generation_config.json",
                             "tokenizer.json",
                             "tokenizer_config.json",
                             "special_tokens_map.json",
                             "added_tokens.json",
                             "vocab.txt",
                             "spiece.model",
                             "spm.model",
                             kSegmentCommandNote};

StoredModel open_for_onnx(const std::string& from, OnnxTask task) {
  StoredModel model = open_stored_model(exported_of(from), "convert", false, BertGelu::as_written);
  const std::string type = model_type_of(model.tensors);
  if (!model.slices.empty())
    throw UsageError(str("convert: ", model.where, ": cannot export a sharded checkpoint to ONNX"),
                     "convert it to a Hugging Face folder first");
  const StoredFamily* family = family_of_tensors(model.tensors);
  if (family == nullptr || !family->has_onnx())
    throw UsageError(str("convert: ", model.named(), ": cannot export a model of type ",
                         type.empty() ? "unknown" : type, " to ONNX"),
                     "use a BERT, RoBERTa, ModernBERT, DeBERTa, ELECTRA or T5");
  require_sizes(model, "convert");
  if (model::put_averages_in_place(model.tensors))
    log_info("{}: exporting the moving averages of the weights", model.where);
  if (task == OnnxTask::fill_mask) take_generator(model);
  if (model.form == ModelForm::hugging_face && is_packed(read_model_config(model.where)))
    log_warning("{}: int4 weights are written to the ONNX file as floats", model.where);
  return model;
}

// An ONNX graph, its file name and its metadata.
struct OnnxFile {
  std::string name;
  io::OnnxGraph graph{"smelt"};
  io::OnnxGraph::Properties properties = {};
};

// Adds the classification head and its outputs: logits, or start_logits and end_logits for question
// answering.
void add_head(const OnnxModelParts& parts, const StoredFamily& family, io::Problem problem,
              const std::string& x) {
  io::OnnxGraph& graph = parts.graph;
  const std::string logits = family.add_onnx_head(parts, problem, x);
  if (problem == io::Problem::answer_spans) {
    for (const auto& [name, at] : {std::pair{"start_logits", 0}, {"end_logits", 1}})
      graph.output(graph.node("Gather", {logits, graph.scalar(at)}, {{"axis", 2}}, name),
                   compiler::DType::f32, kTokens);
    return;
  }
  std::vector<std::string> dims{"batch", "classes"};
  if (problem == io::Problem::token_labels) dims.insert(dims.begin() + 1, "sequence");
  graph.output(graph.node("Identity", {logits}, {}, "logits"), compiler::DType::f32, dims);
}

// Returns the encoder's config. Uses gelu by erf if the model is a Hugging Face folder whose
// hidden_act is "gelu", because transformers computes that.
model::BertConfig sizes_of(const model::Encoder& config, const StoredModel& model) {
  model::BertConfig out = model::encoder_sizes(config);
  if (model.form != ModelForm::hugging_face ||
      !io::exists(io::join_path(model.where, "config.json")))
    return out;
  const std::string name = read_model_config(model.where).value("hidden_act", "gelu");
  if (name == "gelu" || name == "gelu_python") out.gelu = model::Gelu::erf;
  return out;
}

// Adds the masked-language-model head. Returns logits [B,S,V] for hidden states [B,S,H].
std::string word_logits(io::OnnxGraph& graph, OnnxEncoder& encoder, const StoredFamily& family,
                        const std::string& head, const model::BertConfig& sizes,
                        const std::string& x) {
  const std::string scope = family.word_transform(head),
                    table = str(family.name(), "/embeddings/word_embeddings");
  const std::string hidden = encoder.activated(family.word_activation(sizes),
                                               encoder.dense(scope + "/dense", x), sizes.gelu);
  const std::string normed = encoder.norm(scope + "/LayerNorm", hidden, sizes.layer_norm_eps);
  const std::string words =
      graph.node("Transpose", {encoder.floats(table)}, {{"perm", std::vector<std::int64_t>{1, 0}}});
  return graph.node("Add",
                    {graph.node("MatMul", {normed, words}), encoder.floats(head + "/output_bias")},
                    {}, "logits");
}

// Returns the scope of the masked-language-model head to export with the encoder; "" if there is
// none. The head of an ELECTRA's generator is not exported if the generator has its own encoder;
// with OnnxTask::automatic it is not exported if the model has a discriminator.
std::string word_head_of(const StoredModel& model, const StoredFamily& family, OnnxTask task) {
  const bool is_discriminator = has_generator(model.tensors) ||
                                (task == OnnxTask::automatic &&
                                 model.tensors.contains("discriminator_predictions/dense/bias"));
  return is_discriminator ? "" : family.word_head(model.tensors);
}

// Adds the outputs of an embedding model, with the names of sentence-transformers:
// token_embeddings [B,S,H] and sentence_embedding [B,H].
void add_embedding_outputs(const OnnxModelParts& parts, const io::EmbeddingForm& form,
                           const std::string& x) {
  io::OnnxGraph& graph = parts.graph;
  std::string pooled;
  if (form.pooling == io::Pooling::cls) {
    pooled = parts.layers.first(x);
  } else {
    const std::string axes = graph.constant(std::vector<std::int64_t>{1});
    const std::string mask =
        graph.node("Cast",
                   {graph.node("Unsqueeze",
                               {parts.inputs.mask, graph.constant(std::vector<std::int64_t>{2})})},
                   {{"to", 1}});  // 1: float
    const std::string sum =
        graph.node("ReduceSum", {graph.node("Mul", {x, mask}), axes}, {{"keepdims", 0}});
    const std::string count = graph.node("ReduceSum", {mask, axes}, {{"keepdims", 0}});
    pooled = graph.node("Div", {sum, graph.node("Max", {count, graph.constant(1e-9F)})});
  }
  if (form.normalize) {
    const std::string norm =
        graph.node("ReduceL2", {pooled}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", 1}});
    pooled = graph.node("Div", {pooled, graph.node("Max", {norm, graph.constant(1e-12F)})});
  }
  const std::string width = str(parts.sizes.hidden_size);
  graph.output(graph.node("Identity", {x}, {}, "token_embeddings"), compiler::DType::f32,
               {"batch", "sequence", width});
  graph.output(graph.node("Identity", {pooled}, {}, "sentence_embedding"), compiler::DType::f32,
               {"batch", width});
}

std::string add_encoder_outputs(OnnxFile& file, const OnnxModelParts& parts,
                                const StoredModel& model, OnnxTask task, const std::string& x) {
  const bool is_fine_tuned = model_type_of(model.tensors) == kClassifierType;
  const StoredFamily& family = family_of_encoder(model::encoder_name(parts.model));
  const std::string words = word_head_of(model, family, task);
  if (task == OnnxTask::automatic && is_fine_tuned) {
    const ClassifierHead head = stored_head(model);
    add_head(parts, family, head.labels.problem, x);
    file.properties["labels"] = Json(head.labels.names).dump();
    return std::string(word_of(head.labels.problem, io::kProblems));
  }
  if (task == OnnxTask::automatic)
    if (const auto form = stored_embedding_form(model)) {
      add_embedding_outputs(parts, *form, x);
      return kEmbedding;
    }
  if (task == OnnxTask::fill_mask && words.empty())
    throw UsageError(
        str("convert: ", model.named(), " has no masked-language-model head"),
        "give the generator's folder of an ELECTRA, or remove --task to export its encoder");
  if (task != OnnxTask::feature_extraction && !words.empty()) {
    file.graph.output(word_logits(file.graph, parts.layers, family, words, parts.sizes, x),
                      compiler::DType::f32, {"batch", "sequence", str(parts.sizes.vocab_size)});
    return kFillMask;
  }
  file.graph.output(file.graph.node("Identity", {x}, {}, "last_hidden_state"), compiler::DType::f32,
                    {"batch", "sequence", str(parts.sizes.hidden_size)});
  return kFeatures;
}

OnnxFile encoder_file(const StoredModel& model, const std::string& name, OnnxTask task) {
  OnnxFile out{.name = name};
  const model::Encoder config =
      model::parse_encoder(stored_encoder_name(model), model.config, model.where);
  OnnxEncoder encoder(out.graph, model.tensors, str("convert: ", model.where));
  const auto ids = [&](const char* of) {
    return out.graph.input(of, compiler::DType::s64, kTokens);
  };
  const model::BertConfig sizes = sizes_of(config, model);
  const OnnxEncoder::Inputs inputs{
      .ids = ids("input_ids"),
      .mask = ids("attention_mask"),
      .types = sizes.reads_segments ? ids("token_type_ids") : std::string()};
  const OnnxModelParts parts{
      .graph = out.graph, .layers = encoder, .model = config, .sizes = sizes, .inputs = inputs};
  const std::string x = family_of_encoder(model::encoder_name(config)).add_onnx_encoder(parts);
  out.properties["problem"] = add_encoder_outputs(out, parts, model, task, x);
  return out;
}

std::vector<OnnxFile> t5_files(const StoredModel& model) {
  const auto config = io::parse_config<model::T5Config>(model.config, model.where);
  std::vector<OnnxFile> out;
  for (const auto& [name, kind] : {std::pair{"encoder_model.onnx", T5Graph::encoder},
                                   {"decoder_model.onnx", T5Graph::decoder},
                                   {"decoder_with_past_model.onnx", T5Graph::decoder_with_past}}) {
    OnnxFile& file = out.emplace_back(OnnxFile{.name = name});
    add_t5_graph(file.graph, model.tensors, config, str("convert: ", model.where), kind);
    file.properties["problem"] = kText2Text;
  }
  return out;
}

// Writes the file and returns its size in bytes.
std::uint64_t write_onnx(const OnnxFile& file, const StoredModel& model, const std::string& to) {
  const std::uint64_t bytes = file.graph.bytes(file.properties);
  if (bytes > std::numeric_limits<std::int32_t>::max())
    throw UsageError(
        str("convert: ", model.where, " would take ", smelt::bytes_text(static_cast<double>(bytes)),
            " as ONNX, but one file can hold at most 2 GB"),
        "quantize its weights to int8 first: smelt compress quantize");
  io::OutputFile out(to, io::OutputFile::Cache::bypassed);
  file.graph.write(file.properties, [&](std::string_view piece) { out.write(piece); });
  out.commit();
  return bytes;
}

}  // namespace

OnnxModel write_onnx_model(const std::string& from, const std::string& to, OnnxTask task) {
  if (io::exists(to))
    throw UsageError(str("convert: ", to, " already exists"), "remove it, or give another name");
  const StoredModel model = open_for_onnx(from, task);
  if (is_encoder_decoder(model.tensors))
    throw UsageError(str("convert: ", model.where, ": a T5 takes three ONNX files, not one"),
                     "give a new folder: smelt convert MODEL FOLDER --to onnx");
  const OnnxFile file = encoder_file(model, io::path_name(to), task);
  return {.from = model.where,
          .task = file.properties.at("problem"),
          .files = {file.name},
          .bytes = write_onnx(file, model, to)};
}

OnnxModel write_onnx_folder(const std::string& from, const std::string& to, OnnxTask task) {
  const StoredModel model = open_for_onnx(from, task);
  const bool is_t5 = is_encoder_decoder(model.tensors);
  if (is_t5 && task != OnnxTask::automatic)
    throw UsageError("convert: --task is for encoders, but this model is a T5", "remove --task");
  std::vector<OnnxFile> files;
  if (is_t5)
    files = t5_files(model);
  else
    files.push_back(encoder_file(model, "model.onnx", task));
  io::OutputDirectory folder(to);
  OnnxModel out{.from = model.where, .task = files.front().properties.at("problem"), .files = {}};
  for (const OnnxFile& file : files) {
    out.bytes += write_onnx(file, model, folder.file(file.name));
    out.files.push_back(file.name);
  }
  for (const char* name : kBeside)
    if (const std::string path = io::join_path(model.where, name); io::exists(path))
      io::write_file(folder.file(name), io::read_file(path));
  folder.commit();
  return out;
}

}  // namespace smelt::checkpoint
