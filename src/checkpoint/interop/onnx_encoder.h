// Adds the layers of models to an ONNX graph, with weights in floating point or int8
// (checkpoint/interop/int8_weights.h). Each function returns the name of its output.
//   B batch   S sequence   H hidden   C classes or other outputs
#pragma once

#include <string>
#include <vector>

#include "io/formats/onnx.h"
#include "model/models/bert_config.h"

namespace smelt::checkpoint {

class OnnxEncoder {
 public:
  OnnxEncoder(io::OnnxGraph& graph, const io::LazyTensors& tensors, std::string where)
      : graph_(graph), tensors_(tensors), where_(std::move(where)) {}

  struct Inputs {
    std::string ids, mask, types;  // s64 [B,S]; `types` is "" for a model without token types
  };
  // Adds an encoder with the parameters below `scope` ("bert" or "electra"): embeddings, their
  // projection if the model has one, and the layers. Computes the same as embed_tokens() and
  // encode() in model/models/encoder.h. Returns [B,S,H].
  std::string encoded(const std::string& scope, const model::BertConfig& config,
                      const Inputs& inputs);
  // Adds the attention bias for a mask [B,S], which excludes masked keys. Returns [B,1,1,S].
  std::string key_bias(const std::string& mask);

  // Adds a tensor as an f32 constant.
  std::string floats(const std::string& name);
  // Selects rows of a table with the ONNX operator `op`, "Gather" or "Slice". Decodes an int8
  // table.
  std::string rows(const std::string& table, const std::string& op,
                   const std::vector<std::string>& which);
  // Adds the matmul of x [...,in] and the tensor `kernel` [in,out].
  std::string product(const std::string& kernel, const std::string& x);
  // Adds a layer norm. The parameter "beta" may be missing.
  std::string norm(const std::string& scope, const std::string& x, double epsilon);

  // Adds a dense layer: the matmul of x [...,in] and the kernel of `scope`, plus its bias if there
  // is one.
  std::string dense(const std::string& scope, const std::string& x);
  // Adds a dense layer: the matmul of x [...,in] and the transpose of a matrix [C,in], plus a bias
  // [C].
  std::string turned_dense(const std::string& matrix, const std::string& bias,
                           const std::string& x);
  std::string activated(const std::string& name, const std::string& x, model::Gelu gelu);
  // Selects the first token of [B,S,H]. Returns [B,H].
  std::string first(const std::string& x);

 private:
  const io::LazyTensor& tensor(const std::string& name) const;
  std::string embeddings(const std::string& scope, const model::BertConfig& config,
                         const Inputs& inputs);
  std::string integer_product(const std::string& kernel, const io::LazyCodes& codes,
                              const std::string& x);
  std::string attention(const std::string& scope, const model::BertConfig& config,
                        const std::string& x, const std::string& mask);
  std::string output_block(const std::string& scope, const model::BertConfig& config,
                           const std::string& x, const std::string& residual);

  io::OnnxGraph& graph_;
  const io::LazyTensors& tensors_;
  std::string where_;
};

}  // namespace smelt::checkpoint
