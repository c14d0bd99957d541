// Layers of models as operators of an ONNX graph, from weights as folders hold them: floats, or
// codes of eight bits (checkpoint/interop/int8_weights.h).
//   B batch   S sequence   E embedding   H hidden   N heads   D width of a head
#pragma once

#include <string>
#include <vector>

#include "io/formats/onnx.h"
#include "model/models/bert_config.h"

namespace smelt {

class OnnxEncoder {
 public:
  OnnxEncoder(OnnxGraph& graph, const LazyTensors& tensors, std::string where)
      : graph_(graph), tensors_(tensors), where_(std::move(where)) {}

  struct Inputs {
    std::string ids, mask, types;  // s64 [B,S]; no types for a model that does not read them
  };
  // As model/models/encoder.h's embed_tokens() and encode() below "bert" or "electra", and what
  // projects the embeddings, where that is there: [B,S,H].
  std::string encoded(const std::string& scope, const BertConfig& config, const Inputs& inputs);

  // A tensor as f32.
  std::string floats(const std::string& name);
  // Rows of a table by an operator that takes them, "Gather" or "Slice".
  std::string rows(const std::string& table, const std::string& op,
                   const std::vector<std::string>& which);
  // x [...,in] times a kernel [in,out].
  std::string product(const std::string& kernel, const std::string& x);
  std::string norm(const std::string& scope, const std::string& x, double epsilon);

  // x [...,in] times `scope`'s kernel, and its bias.
  std::string dense(const std::string& scope, const std::string& x);
  // x [...,in] times a matrix [C,in], turned, and a bias [C].
  std::string turned_dense(const std::string& matrix, const std::string& bias,
                           const std::string& x);
  std::string activated(const std::string& name, const std::string& x, Gelu gelu);
  // The first token's of [B,S,H]: [B,H].
  std::string first(const std::string& x);

 private:
  const LazyTensor& tensor(const std::string& name) const;
  std::string embeddings(const std::string& scope, const BertConfig& config, const Inputs& inputs);
  std::string integer_product(const std::string& kernel, const LazyCodes& codes,
                              const std::string& x);
  std::string attention(const std::string& scope, const BertConfig& config, const std::string& x,
                        const std::string& mask);
  std::string output_block(const std::string& scope, const BertConfig& config, const std::string& x,
                           const std::string& residual);

  OnnxGraph& graph_;
  const LazyTensors& tensors_;
  std::string where_;
};

}  // namespace smelt
