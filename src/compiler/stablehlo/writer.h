// Graph -> StableHLO text (https://openxla.org/stablehlo/spec), generic form. The same graph gives
// the same text byte for byte.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/mesh.h"

namespace smelt {

// "tensor<8x128xf32>"
std::string hlo_type(const Shape& shape);
// "array<i64: 0, 1>"
std::string hlo_dims(const Dims& dims);
// "[0, 1]"
std::string hlo_list(const Dims& dims);
// "dense<…> : tensor<…>" from row-major bytes, or from the bytes of one element for all. Exact:
// floats are decimal with enough digits to read back the same bits, or the bits themselves when not
// finite.
std::string hlo_dense(const Shape& shape, const std::vector<std::byte>& bytes);

// `#sdy.sharding<@mesh, [{"data"}, {}]>`. UsageError: rank, unknown axis, or a dimension that
// the axes' sizes do not divide.
std::string hlo_sharding(const Mesh& mesh, const Sharding& sharding, const Shape& shape);

// How a program's ops are written where there is a choice.
struct HloForm {
  // Sums over the rows of f32 matrices are products with ones, which XLA's CPU fusion needs
  // (docs/explanation/performance.md); elsewhere they fuse with what makes the rows.
  bool sums_as_products = false;
  // Sums of very many f32 numbers are added up in f64: XLA's CPU adds one after another, so that a
  // sum of the squares of 30522 x 768 numbers is off by a thousandth. Elsewhere sums are trees.
  bool long_sums_in_f64 = false;
  // Products of f32 matrices are of all their bits: a TPU would round their factors to bf16, a GPU
  // to tf32.
  bool exact_products = false;
};

// What Op::emit writes to: the lines of one function, with names for values.
class HloWriter {
 public:
  explicit HloWriter(Mesh mesh = {}, HloForm form = {}) : mesh_(std::move(mesh)), form_(form) {}

  const std::string& name(Tensor t) const;  // "%12" or "%12#1"
  void alias(Tensor result, Tensor input);  // the op is nothing but a new name
  // %r = "op"(inputs) <{attrs}> ({regions}) : (types) -> types, with the node's inputs, regions,
  // results.
  void generic(const Node& node, std::string_view op, std::string_view attrs = {});
  // Emits, as the node's results, those of a graph of its own made from the node's inputs.
  using Build = std::function<std::vector<Tensor>(Graph&, std::span<const Tensor> inputs)>;
  void splice(const Node& node, const Build& build);
  // Emits `results` of a region or function body up to and including its terminator.
  void body(const Graph& graph, const std::vector<Tensor>& results, std::string_view terminator);
  // Names the arguments of a graph: "%arg0" … in functions, fresh numbers in regions.
  void bind_arguments(const Graph& graph, std::string_view prefix);

  // Empty: the program knows no mesh, and sharding annotations vanish.
  const Mesh& mesh() const { return mesh_; }
  const HloForm& form() const { return form_; }
  std::string take() { return std::move(text_); }
  void line(std::string_view text);

 private:
  void region(const Region& region, std::string_view terminator, std::string_view end);
  std::string operands(const std::vector<Tensor>& tensors) const;

  Mesh mesh_;
  HloForm form_;
  std::string text_;
  std::unordered_map<Tensor, std::string> names_;
  std::int64_t next_ = 0;
  std::size_t depth_ = 2;
};

// One program: `results` of `graph`, whose arguments are its own.
struct Program {
  Graph graph;
  std::vector<Tensor> results;
  // Result i reuses the memory of argument donated_by[i]; -1 = none. Empty = no donation at all.
  std::vector<std::int64_t> donated_by;
  std::int64_t replicas = 1;  // that run it side by side, each with arguments of its own
  HloForm form = {};
  Mesh mesh;                                // empty = no sharding attributes are written
  std::vector<Sharding> argument_sharding;  // empty or one per argument
  std::vector<Sharding> result_sharding;    // empty or one per result
};

// The module with one public function @main. UsageError: a donated pair differs in shape, an
// argument is donated twice, a sharding does not fit its value.
std::string emit_module(const Program& program, std::string_view module_name);

}  // namespace smelt
