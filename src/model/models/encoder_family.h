// The interface of an encoder family: fine-tuning heads, a masked-LM head, parameter names and
// sizes. The section "How to add …" in ARCHITECTURE.md lists the other parts of a family.
//
// These parameter names are fixed, because checkpoint, ONNX and learning rate code reads them:
//   <family>/embeddings/word_embeddings, <family>/encoder/layer_<i>/…   the encoder
//   classifier/…, qa_outputs/… (or BERT's output_weights, output_bias, cls/squad/…)   a fine-tuning
//       head; is_class_head() (model/models/classifier.h) returns true for these names. They also
//       show whether the head classifies texts or tokens (StoredFamily::class_bias()).
//   <transform>/dense, <transform>/LayerNorm, <head>/output_bias   a masked-LM head, where
//       StoredFamily::word_transform() returns <transform> and word_head() returns <head>. The ONNX
//       export applies the activation StoredFamily::word_activation() between dense and LayerNorm.
//
//   B batch   S sequence   H hidden   C classes   P masked positions
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/models/encoder.h"

namespace smelt::model {

// An encoder of one family with a config. Immutable.
class EncoderModel {
 public:
  virtual ~EncoderModel() = default;

  // Returns the name of the family. It is also the first part of the encoder's parameter names.
  virtual std::string_view family() const = 0;
  // Returns the sizes as a BERT config. Its last fields, which are not stored in files, describe
  // how the family's encoder differs from BERT's.
  virtual BertConfig sizes() const = 0;
  // Returns the config as JSON with the fields of the family's config file, as stored in
  // checkpoints.
  virtual Json config() const = 0;
  // Returns the dimension names of a parameter for model/nn/partition_rules.h, or an empty list for
  // a parameter of a classification head.
  virtual DimNames dim_names(std::string_view parameter) const = 0;
  // Returns whether heads for whole texts use a pooler layer.
  virtual bool has_pooler() const = 0;

  // Returns [B,S,H] in the scope's dtype. Throws UsageError if S exceeds the maximum sequence
  // length.
  virtual compiler::Tensor sequence(const Scope& root, const EncoderInputs& inputs) const = 0;
  // Returns f32 [B,C]. `dropout` is applied to the input of the head.
  virtual compiler::Tensor class_logits(const Scope& root, const EncoderInputs& inputs,
                                        std::int64_t classes, double dropout) const = 0;
  // Returns the masked-LM head on the B*P rows of `sequence` at `positions` [B,P]. Throws BugError
  // in families that do not override it.
  virtual LmHead word_head(const Scope& root, compiler::Tensor sequence,
                           compiler::Tensor positions) const;
  // Applies the token classification head to f32 [B,S,H] (after dropout) and returns f32 [B,S,C].
  virtual compiler::Tensor token_head(const Scope& root, compiler::Tensor tokens,
                                      std::int64_t classes) const = 0;
  // Applies the question answering head to f32 [B,S,H] and returns f32 [B,S,2].
  virtual compiler::Tensor answer_head(const Scope& root, compiler::Tensor tokens) const = 0;
};

using Encoder = std::shared_ptr<const EncoderModel>;

// A family's entry in encoder_families().
struct EncoderFamily {
  std::string_view name;  // "bert"
  // Throws UsageError that begins with `where` if the config is invalid.
  Encoder (*parse)(const Json& config, const std::string& where);
};

// Returns all families, in the order of model/models/families.h.
std::span<const EncoderFamily> encoder_families();

}  // namespace smelt::model
