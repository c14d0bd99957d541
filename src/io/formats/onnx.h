// Writes models as ONNX files, which contain a graph of operators and its weights
// (https://github.com/onnx/onnx, onnx/onnx.proto; operators: docs/Operators.md there).
// docs/reference/formats/onnx.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/formats/lazy_tensor.h"
#include "io/formats/wire.h"

namespace smelt::io {

inline constexpr std::int64_t kOnnxIrVersion = 8, kOnnxOpset = 17;

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, float, std::vector<std::int64_t>> value;
};

// A graph that is built operator by operator. Values are identified by their names.
class OnnxGraph {
 public:
  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  // Adds an input and returns its name. A dimension is a number, such as "512", or a name for a
  // variable size.
  std::string input(const std::string& name, compiler::DType type,
                    const std::vector<std::string>& dims);
  void output(const std::string& value, compiler::DType type, const std::vector<std::string>& dims);
  // Adds a constant of type f32, u8, s8, s32 or s64 and returns its name. The tensor is read when
  // the graph is written. Reuses an existing constant of this name.
  std::string constant(const std::string& name, LazyTensor tensor);
  std::string constant(float value);                              // a scalar
  std::string scalar(std::int64_t value);                         // s64
  std::string constant(const std::vector<std::int64_t>& values);  // s64 [n]
  // Adds an operator and returns the name of its only result. If `name` is empty, one is generated.
  std::string node(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<OnnxAttribute>& attributes = {}, std::string name = {});

  // Metadata of the file, by name.
  using Properties = std::map<std::string, std::string>;
  std::uint64_t bytes(const Properties& properties) const;
  // Writes the file, one tensor at a time. Equal graphs give equal bytes.
  void write(const Properties& properties,
             const std::function<void(std::string_view bytes)>& put) const;

 private:
  struct Initializer {
    std::string head;  // the encoded constant without its values
    LazyTensor tensor;
    std::uint64_t bytes() const;
  };
  std::string head(const Properties& properties) const;
  std::uint64_t initializer_bytes() const;
  std::uint64_t graph_bytes() const;

  std::string name_;
  WireWriter nodes_, inputs_, outputs_;  // encoded messages, each preceded by its field number
  std::map<std::string, Initializer> initializers_;
  std::int64_t count_ = 0;
};

}  // namespace smelt::io
