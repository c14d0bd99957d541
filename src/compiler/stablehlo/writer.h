// Writes a graph as StableHLO text (https://openxla.org/stablehlo/spec) in generic form. The text
// is deterministic.
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

namespace smelt::compiler {

// Returns "tensor<8x128xf32>".
std::string hlo_type(const Shape& shape);
// Returns "array<i64: 0, 1>".
std::string hlo_dims(const Dims& dims);
// Returns "[0, 1]".
std::string hlo_list(const Dims& dims);
// Returns "dense<…> : tensor<…>". `bytes` holds all elements in row-major order, or a single one if
// all are equal. The text is exact: finite floats are printed with enough digits to read back the
// same bits, others as bits.
std::string hlo_dense(const Shape& shape, const std::vector<std::byte>& bytes);

// Returns `#sdy.sharding<@mesh, [{"data"}, {}]>`. Throws UsageError if the rank is wrong, an axis
// is unknown, or a dimension is not divisible by the number of devices.
std::string hlo_sharding(const Mesh& mesh, const Sharding& sharding, const Shape& shape);

// Choices in how ops are lowered.
struct HloForm {
  // Emit sums over the rows of f32 matrices as matmuls with ones. Needed for XLA's CPU fusion
  // (docs/explanation/performance-history.md); other platforms fuse such sums well.
  bool sums_as_products = false;
  // Add very long f32 sums in f64. XLA's CPU adds sequentially, so that a sum of the squares of
  // 30522 x 768 numbers is off by 0.1 %. Other platforms add in trees.
  bool long_sums_in_f64 = false;
  // Compute f32 matmuls in full precision. By default a TPU rounds the operands to bf16 and a GPU
  // to tf32.
  bool exact_products = false;
};

// Collects the lines of one function and the names of its values; Op::emit writes to it.
class HloWriter {
 public:
  explicit HloWriter(Mesh mesh = {}, HloForm form = {}) : mesh_(std::move(mesh)), form_(form) {}

  const std::string& name(Tensor t) const;  // "%12" or "%12#1"
  // Gives `result` the name of `input`, for an op that emits nothing.
  void alias(Tensor result, Tensor input);
  // Writes %r = "op"(inputs) <{attrs}> ({regions}) : (types) -> types.
  void generic(const Node& node, std::string_view op, std::string_view attrs = {});
  // Emits a graph that `build` makes from the node's inputs; its results become the node's results.
  using Build = std::function<std::vector<Tensor>(Graph&, std::span<const Tensor> inputs)>;
  void splice(const Node& node, const Build& build);
  // Emits the nodes that `results` depend on and the terminator of a region or function.
  void body(const Graph& graph, const std::vector<Tensor>& results, std::string_view terminator);
  // Names the arguments of a graph: prefix and index, or fresh numbers if `prefix` is empty.
  void bind_arguments(const Graph& graph, std::string_view prefix);

  // Empty if the program has no mesh; sharding annotations are then omitted.
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

// A complete program.
struct Program {
  Graph graph;
  std::vector<Tensor> results;
  // Result i reuses the memory of argument donated_by[i] (-1: none). Empty: no donation.
  std::vector<std::int64_t> donated_by;
  std::int64_t replicas = 1;  // number of copies that run side by side, each on its own arguments
  HloForm form = {};
  Mesh mesh;                                // empty: no shardings are written
  std::vector<Sharding> argument_sharding;  // empty or one per argument
  std::vector<Sharding> result_sharding;    // empty or one per result
};

// Returns a module with one public function @main. Throws UsageError if a donated pair differs in
// shape, an argument is donated twice, or a sharding does not fit its value.
std::string emit_module(const Program& program, std::string_view module_name);

}  // namespace smelt::compiler
