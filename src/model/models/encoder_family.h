// The interface between a family of encoders and everything that uses one: the heads of
// fine-tuning, a masked-language-model head, parameter names and sizes. ARCHITECTURE.md, "To add a
// model", lists the other parts of a family.
//   B batch   S sequence   H hidden   C classes   P masked positions
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "model/models/encoder.h"

namespace smelt {

// An encoder of one family with its sizes. Immutable.
class EncoderModel {
 public:
  virtual ~EncoderModel() = default;

  // Returns the name of the family, which also begins the names of the encoder's parameters.
  virtual std::string_view family() const = 0;
  virtual BertConfig sizes() const = 0;
  // Returns the config as checkpoints and the family's config file store it.
  virtual Json config() const = 0;
  // Returns the names of a parameter's dimensions for model/nn/partition_rules.h, or nothing for a
  // parameter of a classification head.
  virtual DimNames dim_names(std::string_view parameter) const = 0;
  // Whether a head that scores whole texts reads a pooler, which is a layer of its own.
  virtual bool has_pooler() const = 0;

  // Returns [B,S,H] in the scope's type. Throws UsageError if S is longer than the model's
  // positions.
  virtual Tensor sequence(const Scope& root, const EncoderInputs& inputs) const = 0;
  // Returns f32 [B,C]. `dropout` applies to the input of the head.
  virtual Tensor class_logits(const Scope& root, const EncoderInputs& inputs, std::int64_t classes,
                              double dropout) const = 0;
  // Returns the head that scores all words by the B*P rows of `sequence` at `positions` [B,P]. A
  // family without a masked-language-model head of its own throws a BugError.
  virtual LmHead word_head(const Scope& root, Tensor sequence, Tensor positions) const;
  // Applies the head of token classification to f32 [B,S,H], after dropout: returns f32 [B,S,C].
  virtual Tensor token_head(const Scope& root, Tensor tokens, std::int64_t classes) const = 0;
  // Applies the head of question answering to f32 [B,S,H]: returns f32 [B,S,2].
  virtual Tensor answer_head(const Scope& root, Tensor tokens) const = 0;
};

using Encoder = std::shared_ptr<const EncoderModel>;

// A family of encoders.
struct EncoderFamily {
  std::string_view name;  // "bert"
  // Throws UsageError that begins with `where` for a config with wrong values.
  Encoder (*parse)(const Json& config, const std::string& where);
};

// All families, in the order of model/models/families.h.
std::span<const EncoderFamily> encoder_families();

}  // namespace smelt
