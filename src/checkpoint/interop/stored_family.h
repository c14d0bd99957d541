// How a family of models is stored: its files in smelt, TensorFlow and transformers. There is one
// object for each family of model/models/families.h. The computation of a family is separate
// (model/models/encoder_family.h), because the graphs of model/ do not access files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/interop/hugging_face_classifier.h"
#include "checkpoint/interop/onnx_encoder.h"
#include "checkpoint/interop/pretrained_weights.h"
#include "checkpoint/interop/stored_classifier.h"
#include "checkpoint/interop/stored_model.h"

namespace smelt::checkpoint {

// The ONNX graph that is built for a model, and the values it is built from.
struct OnnxModelParts {
  io::OnnxGraph& graph;
  OnnxEncoder& layers;
  const model::Encoder& model;
  // The sizes of `model`, with the form of gelu (erf or tanh) that the model's folder specifies.
  const model::BertConfig& sizes;
  const OnnxEncoder::Inputs& inputs;
};

// The modules of transformers from which compression can remove attention heads or neurons.
struct LayerModules {
  // The matmuls that compute and read the units (heads or neurons) of a layer. Removing a unit
  // removes rows from the weights of `inputs` and columns from the weight of `output`.
  struct Units {
    std::string output = {};               // module name; empty if the units cannot be removed
    std::vector<std::string> inputs = {};  // module names
    std::int64_t parts = 1;                // blocks of rows in each input; each has every unit
  };
  std::string prefix;  // of module names, up to the layer's number: "bert.encoder.layer."
  Units heads, neurons;
  std::int64_t period = 1;     // layers i and i + period are of the same kind
  bool first_differs = false;  // whether layer 0 has other parameters than the others
};

// The files of one model family. The default of a function is either right for most families or
// throws BugError. A family of encoders derives from FolderFamily and overrides name, model_types,
// class_prefix, class_bias, classifier, add_onnx_head and, if it has a masked-LM head, word_head.
class StoredFamily {
 public:
  virtual ~StoredFamily() = default;

  // Returns the name of the family: the prefix of its config file, the task of its checkpoints,
  // and for encoders the name in model/models/encoder_family.h.
  virtual std::string_view name() const = 0;
  // Returns the values of model_type in config.json that belong to the family; none if transformers
  // does not have the family.
  virtual std::vector<std::string_view> model_types() const { return {}; }
  // Whether `tensors` include parameters of a pretrained model of this family. The keys are the
  // original checkpoint's names.
  virtual bool owns(const io::LazyTensors& tensors) const = 0;
  // Whether the encoder of this family is among `tensors`; false for a family without
  // classification heads.
  virtual bool has_encoder(const io::LazyTensors& tensors) const;

  // Return the names of the config and vocabulary files that are stored next to a checkpoint.
  virtual std::string config_file() const;  // name() + "_config.json", as "bert_config.json"
  virtual std::string vocabulary_file() const { return "vocab.txt"; }
  // Returns the possible paths of the vocabulary in a folder. Callers use the first that exists.
  virtual std::vector<std::string> vocabulary_files(const std::string& folder) const;
  // Throws UsageError if the tokenizer files in a Hugging Face folder specify rules that differ
  // from the family's. The rules of encoders are checked when their vocabulary is read.
  virtual void check_tokenizer(const std::string&) const {}
  // Returns the control characters that the tokenizer removes by default.
  virtual text::ControlCharacters control() const { return text::ControlCharacters::bert; }
  // Whether the model has a decoder that generates text.
  virtual bool is_encoder_decoder() const { return false; }
  // Whether `tensors` are of a model that only serves to pretrain another one, such as ELECTRA's
  // generator. Such a model cannot be the teacher in a distillation.
  virtual bool is_auxiliary(const io::LazyTensors&) const { return false; }
  // Whether StoredModel::t5 applies: the vocabulary has sentinels, and texts may have a prefix.
  virtual bool has_sentinels() const { return false; }
  // Returns `config` with missing sizes inferred from the shapes of `tensors`. Throws UsageError
  // that begins with `where` if the two contradict each other.
  virtual Json with_sizes_of(const io::LazyTensors& tensors, Json config,
                             const std::string& where) const;
  // Returns the config with all its fields, as a run records it.
  virtual Json full_config(const Json& config, const std::string& where) const;
  // Adds the fields to `file` that the family's config file has besides the model's config, such as
  // ELECTRA's "objective". The default adds nothing.
  virtual void put_beside_config(const StoredModel& model, Json& file) const;

  // Opens the model in `folders` and adds it to `out`. There are several Hugging Face folders only
  // for an ELECTRA with a generator.
  virtual void open(const std::vector<std::string>& folders, StoredModel& out) const;
  // Adds the weights in one Hugging Face folder to `out`, as pretrained weights for a run
  // (init_from).
  virtual void load(const std::string& folder, PretrainedWeights& out) const;
  // Writes a pretrained model to a new Hugging Face folder. model.config and model.tokenizer must
  // be set.
  virtual void write(const std::string& folder, const StoredModel& model,
                     const FolderForm& form) const;

  // The functions up to classifier() serve only families with an encoder.

  // Returns the prefix of transformers' classes: "Bert" in "BertForSequenceClassification".
  virtual std::string class_prefix(const Json& config) const;
  // Returns the name of the bias of a classification head; its size is the number of classes. Sets
  // `of_tokens` to whether the head classifies tokens, not texts.
  virtual std::string class_bias(const io::LazyTensors& tensors, bool& of_tokens) const;
  // Returns the field of config.json with the dropout of a classification head.
  virtual std::string_view dropout_field() const { return "classifier_dropout"; }
  // A config.json and the names of the model's parameters.
  struct NamedConfig {
    Json config;
    std::vector<ParameterName> names;
  };
  // Returns the config.json and the parameter names of a classifier with `outputs` classes; 0 means
  // a question-answering head. The names must not include a pretraining head, unless
  // export_hugging_face() removes that head.
  virtual NamedConfig classifier(const model::Encoder& encoder, io::Problem problem,
                                 std::int64_t outputs) const;

  // Returns the modules that compression can prune. Only for families with an encoder.
  virtual LayerModules layer_modules(const Json& config) const;
  // Returns smelt's name of the kernel of a module of transformers. Returns "" if the module is not
  // of this family, or if the kernel's name is the module's name with slashes instead of dots.
  virtual std::string kernel_of_module(const std::string&) const { return ""; }

  // Whether the model can be exported to ONNX. The functions below serve models with one graph;
  // write_onnx_folder() itself handles those with several (T5).
  virtual bool has_onnx() const { return true; }
  // Adds the encoder. Returns its last hidden states [B,S,H].
  virtual std::string add_onnx_encoder(const OnnxModelParts& parts) const;
  // Adds the head of a classifier to x [B,S,H] and returns its logits: [B,C] for texts, [B,S,C] for
  // tokens, [B,S,2] for question answering.
  virtual std::string add_onnx_head(const OnnxModelParts& parts, io::Problem problem,
                                    const std::string& x) const;
  // Returns the scope of the masked-language-model head in `tensors`, or "".
  virtual std::string word_head(const io::LazyTensors& tensors) const;
  // Returns the scope of the dense layer and the layer norm of the head word_head().
  virtual std::string word_transform(const std::string& head) const { return head; }
  // Returns the name of the activation between that dense layer and the layer norm.
  virtual std::string word_activation(const model::BertConfig& sizes) const {
    return sizes.hidden_act;
  }
};

// A family of encoders whose models are one Hugging Face folder each. Parameter names begin with
// the family's name.
class FolderFamily : public StoredFamily {
 public:
  bool owns(const io::LazyTensors& tensors) const override;
  bool has_encoder(const io::LazyTensors& tensors) const override { return owns(tensors); }
  Json full_config(const Json& config, const std::string& where) const override;
  void open(const std::vector<std::string>& folders, StoredModel& out) const override;
  void load(const std::string& folder, PretrainedWeights& out) const override;
  void write(const std::string& folder, const StoredModel& model,
             const FolderForm& form) const override;

 protected:
  virtual OpenedFolder open_folder(const std::string& folder) const = 0;
  // Returns the config.json for a class of transformers.
  virtual Json folder_config(const model::Encoder& encoder,
                             const std::string& class_name) const = 0;
  // Returns the parameters of a masked LM. Parameters whose names begin with one of heads() may be
  // missing.
  virtual std::vector<ParameterName> masked_lm_names(const model::Encoder& encoder) const = 0;
  virtual std::span<const std::string_view> heads() const = 0;
};

// All families, in the order of model/models/families.h.
std::span<const StoredFamily* const> stored_families();
// Returns the family with this name, or null.
const StoredFamily* find_stored_family(std::string_view name);
// Returns the family of a config.json by its model_type. If no family has the type, returns BERT's,
// whose reader then throws an error that names the folder and the type.
const StoredFamily& family_of_config(const Json& config, const std::string& where);
// Returns the model family that a checkpoint's tensors belong to (for a classifier, the family of
// its encoder), or null if they belong to no known family.
const StoredFamily* family_of_tensors(const io::LazyTensors& tensors);
// Returns a text with all values of model_type that smelt reads, such as "bert, electra or t5".
std::string readable_model_types();
// Whether the tensors are of a model with a decoder that generates text.
bool is_encoder_decoder(const io::LazyTensors& tensors);
// Returns the family of an encoder.
const StoredFamily& family_of_encoder(std::string_view name);

// Whether one of the tensors has a name that begins with `prefix`.
bool any_begins(const io::LazyTensors& tensors, const std::string& prefix);

}  // namespace smelt::checkpoint
