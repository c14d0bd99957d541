#include "checkpoint/onnx_model.h"

#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/progress.h"
#include "checkpoint/given_weights.h"
#include "checkpoint/int4_weights.h"
#include "checkpoint/model_folder.h"
#include "checkpoint/onnx_encoder.h"
#include "checkpoint/stored_classifier.h"
#include "models/classifier.h"
#include "nn/state_names.h"
#include "store/file.h"
#include "store/folder.h"

namespace smelt {
namespace {

const std::vector<std::string> kTokens{"batch", "sequence"};

StoredModel open_classifier(const std::string& from) {
  StoredModel model = open_stored_model(exported_of(from), "convert");
  const std::string type = model_type_of(model.tensors);
  if (type != "classify" || !model.slices.empty())
    throw UsageError(
        str("convert: ", model.where, ": no ONNX file is made of ",
            !model.slices.empty() ? "a model that lies in parts"
                                  : str("a model of type ", type.empty() ? "unknown" : type)),
        !model.slices.empty() ? "convert it to a Hugging Face folder first"
        : type == "t5"        ? "give the Hugging Face folder to those who serve T5"
                              : "fine-tune it first (docs/finetune.md)");
  require_sizes(model, "convert");
  if (put_averages_in_place(model.tensors))
    log_info("{}: exporting the moving averages of the weights", model.where);
  if (model.form == ModelForm::hugging_face && is_packed(read_model_config(model.where)))
    log_warning("{}: weights in four bits are written to the ONNX file as floats", model.where);
  return model;
}

// As models/classifier.h: [B,C] of texts, [B,S,C] of tokens, [B,S] and [B,S] of answers.
void add_head(OnnxGraph& graph, OnnxEncoder& encoder, const Encoder& config, Problem problem,
              const std::string& x) {
  const bool is_bert = encoder_name(config) == "bert";
  if (problem == Problem::answer_spans) {
    const std::string both =
        is_bert ? encoder.turned_dense("cls/squad/output_weights", "cls/squad/output_bias", x)
                : encoder.dense("qa_outputs", x);
    for (const auto& [name, at] : {std::pair{"start_logits", 0}, {"end_logits", 1}})
      graph.output(graph.node("Gather", {both, graph.scalar(at)}, {{"axis", 2}}, name), DType::f32,
                   kTokens);
    return;
  }
  std::string logits;
  if (problem == Problem::token_labels) {
    logits = is_bert ? encoder.turned_dense("output_weights", "output_bias", x)
                     : encoder.dense("classifier", x);
  } else if (is_bert) {
    const std::string pooled =
        encoder.activated("tanh", encoder.dense("bert/pooler/dense", encoder.first(x)), Gelu::erf);
    logits = encoder.turned_dense("output_weights", "output_bias", pooled);
  } else {
    const std::string hidden =
        encoder.activated("gelu", encoder.dense("classifier/dense", encoder.first(x)), Gelu::erf);
    logits = encoder.dense("classifier/out_proj", hidden);
  }
  std::vector<std::string> dims{"batch", "classes"};
  if (problem == Problem::token_labels) dims.insert(dims.begin() + 1, "sequence");
  graph.output(graph.node("Identity", {logits}, {}, "logits"), DType::f32, dims);
}

}  // namespace

OnnxModel write_onnx_model(const std::string& from, const std::string& to) {
  if (exists(to))
    throw UsageError(str("convert: ", to, " is there already"), "remove it, or give another name");
  const StoredModel model = open_classifier(from);
  const Encoder config = parse_encoder(stored_encoder_name(model), model.config, model.where);
  const ClassifierHead head = stored_head(model);
  OnnxGraph graph("smelt");
  OnnxEncoder encoder(graph, model.tensors, str("convert: ", model.where));
  const auto ids = [&](const char* name) { return graph.input(name, DType::s64, kTokens); };
  const std::string x = encoder.encoded(
      std::string(encoder_name(config)), encoder_sizes(config),
      {.ids = ids("input_ids"), .mask = ids("attention_mask"), .types = ids("token_type_ids")});
  add_head(graph, encoder, config, head.labels.problem, x);
  OnnxModel out{.from = model.where,
                .problem = std::string(word_of(head.labels.problem, kProblems))};
  const OnnxGraph::Properties properties{{"problem", out.problem},
                                         {"labels", Json(head.labels.names).dump()}};
  out.bytes = graph.bytes(properties);
  if (out.bytes > std::numeric_limits<std::int32_t>::max())
    throw UsageError(
        str("convert: ", model.where, " would have ", bytes_text(static_cast<double>(out.bytes)),
            " as ONNX, and one file holds 2 GB at most"),
        "put its weights in eight bits first: smelt compress quantize");
  OutputFile file(to, OutputFile::Cache::bypassed);
  graph.write(properties, [&](std::string_view bytes) { file.write(bytes); });
  file.commit();
  return out;
}

}  // namespace smelt
