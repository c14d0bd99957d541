#include "compiler/stablehlo/writer.h"

#include "base/error.h"
#include "compiler/ir/op.h"

namespace smelt::compiler {
namespace {

template <class Range, class Text>
std::string list_of(const Range& items, Text text) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += ", ";
    out += text(item);
  }
  return out;
}

std::string types_of(const std::vector<Tensor>& tensors) {
  return list_of(tensors, [](const Tensor& t) { return hlo_type(t.shape()); });
}

}  // namespace

void HloWriter::line(std::string_view text) {
  text_.append(2 * depth_, ' ').append(text).push_back('\n');
}

const std::string& HloWriter::name(Tensor t) const {
  const auto found = names_.find(t);
  CHECK(found != names_.end(), "no name for a result of ", t.node().op->name);
  return found->second;
}

void HloWriter::alias(Tensor result, Tensor input) { names_[result] = std::string(name(input)); }

void HloWriter::bind_arguments(const Graph& graph, std::string_view prefix) {
  for (std::size_t i = 0; i < graph.arguments().size(); ++i)
    names_[graph.arguments()[i]] = prefix.empty() ? str("%", next_++) : str(prefix, i);
}

std::string HloWriter::operands(const std::vector<Tensor>& tensors) const {
  return list_of(tensors, [this](const Tensor& t) { return name(t); });
}

void HloWriter::generic(const Node& node, std::string_view op, std::string_view attrs) {
  const std::int64_t id = next_++;
  const std::size_t count = node.results.size();
  for (std::size_t i = 0; i < count; ++i)
    names_[Tensor(&node, static_cast<int>(i))] = count == 1 ? str("%", id) : str("%", id, "#", i);
  std::string head = str("%", id, count == 1 ? "" : str(":", count), " = \"", op, "\"(",
                         operands(node.inputs), ")");
  if (!attrs.empty()) head += str(" <{", attrs, "}>");
  const std::string results = list_of(node.results, hlo_type);
  const std::string type =
      str(" : (", types_of(node.inputs), ") -> ", count == 1 ? results : str("(", results, ")"));
  if (node.regions.empty()) return line(head + type);
  line(head + " ({");
  for (std::size_t i = 0; i < node.regions.size(); ++i)
    region(*node.regions[i], op.starts_with("sdy.") ? "sdy.return" : "stablehlo.return",
           i + 1 < node.regions.size() ? "}, {" : "})" + type);
}

void HloWriter::region(const Region& region, std::string_view terminator, std::string_view end) {
  bind_arguments(region.graph, "");
  const auto argument = [this](const Tensor& t) { return str(name(t), ": ", hlo_type(t.shape())); };
  line(str("^bb0(", list_of(region.graph.arguments(), argument), "):"));
  ++depth_;
  body(region.graph, region.results, terminator);
  --depth_;
  line(end);
}

void HloWriter::splice(const Node& node, const Build& build) {
  Graph graph;
  std::vector<Tensor> inputs;
  for (const Tensor& input : node.inputs) {
    inputs.push_back(graph.argument(input.shape()));
    alias(inputs.back(), input);
  }
  const std::vector<Tensor> results = build(graph, inputs);
  for (const Node* inner : reachable(results))
    if (inner->op->emit != nullptr) inner->op->emit(*inner, *this);
  for (std::size_t i = 0; i < results.size(); ++i)
    alias(Tensor(&node, static_cast<int>(i)), results[i]);
}

void HloWriter::body(const Graph& graph, const std::vector<Tensor>& results,
                     std::string_view terminator) {
  for (const Tensor& result : results)
    CHECK(&result.graph() == &graph, "a result belongs to another graph: ", result.node().op->name);
  for (const Node* node : reachable(results))
    if (node->op->emit != nullptr) node->op->emit(*node, *this);
  line(str("\"", terminator, "\"(", operands(results), ") : (", types_of(results), ") -> ()"));
}

}  // namespace smelt::compiler
