// Implements StoredFamily for BERT.
#include "checkpoint/interop/bert_names.h"
#include "checkpoint/interop/hugging_face.h"
#include "checkpoint/interop/stored_family.h"
#include "io/formats/config.h"

namespace smelt::checkpoint {
namespace {

class BertFamily final : public StoredFamily {
 public:
  std::string_view name() const override { return "bert"; }
  std::vector<std::string_view> model_types() const override { return {"bert"}; }
  bool owns(const io::LazyTensors& tensors) const override { return any_begins(tensors, "bert/"); }
  bool has_encoder(const io::LazyTensors& tensors) const override { return owns(tensors); }

  Json full_config(const Json& config, const std::string& where) const override {
    return io::config_json(model::parse_bert_config(config.dump(), where));
  }

  void open(const std::vector<std::string>& folders, StoredModel& out) const override {
    for (const std::string& folder : folders) {
      const OpenedFolder bert = open_hugging_face_bert(folder);
      take_folder(bert, out);
      out.config = bert.model.config;
    }
  }
  void load(const std::string& folder, PretrainedWeights& out) const override {
    ModelFolder bert = held_folder(open_hugging_face_bert(folder));
    out.parameters.merge(bert.parameters);
    out.model = std::move(bert.config);
    out.owners.push_back(std::move(bert.owner));
    out.vocab_txt = std::move(bert.vocab_txt);
  }
  void write(const std::string& folder, const StoredModel& model,
             const FolderForm& form) const override {
    HuggingFaceBert bert;
    bert.config = full_config(model.config, model.where);
    bert.vocab_txt = model.vocab_txt;
    bert.tokenizer = *model.tokenizer;
    export_hugging_face(folder, bert, model.tensors, form);
  }

  std::string class_prefix(const Json&) const override { return "Bert"; }
  std::string class_bias(const io::LazyTensors& tensors, bool& of_tokens) const override {
    of_tokens = !tensors.contains("bert/pooler/dense/kernel");
    return "output_bias";
  }
  NamedConfig classifier(const model::Encoder& encoder, io::Problem problem,
                         std::int64_t outputs) const override {
    Json bert = model::encoder_config_json(encoder);
    Json config = hugging_face_config(bert, classifier_class(encoder, problem));
    if (outputs > 0) bert[kNumLabels] = outputs;
    return {std::move(config), bert_names(bert)};
  }

  std::string add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                            const std::string& x) const override {
    OnnxEncoder& encoder = parts.layers;
    if (problem == io::Problem::answer_spans)
      return encoder.turned_dense("cls/squad/output_weights", "cls/squad/output_bias", x);
    if (problem == io::Problem::token_labels)
      return encoder.turned_dense("output_weights", "output_bias", x);
    const std::string pooled = encoder.activated(
        "tanh", encoder.dense("bert/pooler/dense", encoder.first(x)), model::Gelu::erf);
    return encoder.turned_dense("output_weights", "output_bias", pooled);
  }
  std::string word_head(const io::LazyTensors& tensors) const override {
    const std::string head = "cls/predictions";
    return tensors.contains(head + "/output_bias") ? head : "";
  }
  std::string word_transform(const std::string& head) const override { return head + "/transform"; }
};

}  // namespace

const StoredFamily& bert_stored_family() {
  static const BertFamily kFamily;
  return kFamily;
}

}  // namespace smelt::checkpoint
