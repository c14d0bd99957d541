// The module around one function: signature, donated arguments, mesh and shardings (Shardy
// attributes).
#include <set>

#include "base/error.h"
#include "compiler/stablehlo/writer.h"

namespace smelt::compiler {

std::string hlo_sharding(const Mesh& mesh, const Sharding& sharding, const Shape& shape) {
  const DimAxes axes = sharding.axes.empty() ? DimAxes(shape.dims.size()) : sharding.axes;
  if (axes.size() != shape.dims.size())
    throw UsageError(
        str("sharding: ", axes.size(), " entries for ", shape, ", expected ", shape.rank()),
        "name the mesh axes (or none) for each dimension");
  std::vector<std::string> dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t devices = 1;
    std::vector<std::string> quoted;
    for (const std::string& axis : axes[i]) {
      const std::int64_t size = axis_size(mesh, axis);
      if (size == 0)
        throw UsageError(str("sharding: the mesh has no axis '", axis, "'"),
                         "use an axis of the program's mesh");
      devices *= size;
      quoted.push_back(str("\"", axis, "\""));
    }
    if (shape.dims[i] % devices != 0)
      throw UsageError(str("sharding: dimension ", i, " of ", shape, " does not divide over ",
                           devices, " devices of axis '", join(axes[i], "', '"), "'"),
                       "choose a multiple of the number of devices");
    dims.push_back(str("{", join(quoted, ", "), "}"));
  }
  return str("#sdy.sharding<@mesh, [", join(dims, ", "), "]>");
}

namespace {

void check_donation(const Program& program) {
  if (program.donated_by.empty()) return;
  CHECK(program.donated_by.size() == program.results.size(), program.donated_by.size(),
        " donations for ", program.results.size(), " results");
  const auto& arguments = program.graph.arguments();
  std::set<std::int64_t> taken;
  for (std::size_t i = 0; i < program.donated_by.size(); ++i) {
    const std::int64_t from = program.donated_by[i];
    if (from < 0) continue;
    CHECK(from < static_cast<std::int64_t>(arguments.size()), "no argument ", from, " to donate");
    const Shape& argument = arguments[from].shape();
    const Shape& result = program.results[i].shape();
    if (argument != result)
      throw UsageError(str("donation: result ", i, " is ", result, ", its donated argument ", from,
                           " is ", argument),
                       "donate an argument of the same shape and type");
    if (!taken.insert(from).second)
      throw UsageError(str("donation: argument ", from, " is donated to two results"),
                       "donate each argument once");
  }
}

std::string braces(const std::vector<std::string>& attrs) {
  return attrs.empty() ? "" : str(" {", join(attrs, ", "), "}");
}

std::string sharding_attr(const Program& program, const std::vector<Sharding>& shardings,
                          std::size_t i, const Shape& shape) {
  return "sdy.sharding = " + hlo_sharding(program.mesh, shardings[i], shape);
}

std::string argument_text(const Program& program, std::size_t i) {
  const Shape& shape = program.graph.arguments()[i].shape();
  std::vector<std::string> attrs;
  for (std::size_t r = 0; r < program.donated_by.size(); ++r)
    if (program.donated_by[r] == static_cast<std::int64_t>(i))
      attrs.push_back(str("tf.aliasing_output = ", r, " : i32"));
  if (!program.mesh.empty() && !program.argument_sharding.empty())
    attrs.push_back(sharding_attr(program, program.argument_sharding, i, shape));
  return str("%arg", i, ": ", hlo_type(shape), braces(attrs));
}

std::string result_text(const Program& program, std::size_t i) {
  const Shape& shape = program.results[i].shape();
  std::vector<std::string> attrs;
  if (!program.mesh.empty() && !program.result_sharding.empty())
    attrs.push_back(sharding_attr(program, program.result_sharding, i, shape));
  return hlo_type(shape) + braces(attrs);
}

std::string header(const Program& program, std::string_view module_name) {
  if (program.mesh.empty() && program.replicas == 1) return str("module @", module_name, " {\n");
  if (program.mesh.empty())
    return str("module @", module_name,
               " attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = ", program.replicas,
               " : i32} {\n");
  std::int64_t devices = 1;
  std::vector<std::string> axes;
  for (const auto& [name, size] : program.mesh) {
    devices *= size;
    axes.push_back(str("\"", name, "\"=", size));
  }
  return str("module @", module_name, " attributes {mhlo.num_partitions = ", devices,
             " : i32, mhlo.num_replicas = 1 : i32} {\n  sdy.mesh @mesh = <[", join(axes, ", "),
             "]>\n");
}

}  // namespace

std::string emit_module(const Program& program, std::string_view module_name) {
  check_donation(program);
  const std::size_t count = program.graph.arguments().size();
  CHECK(program.argument_sharding.empty() || program.argument_sharding.size() == count);
  CHECK(program.result_sharding.empty() ||
        program.result_sharding.size() == program.results.size());
  std::vector<std::string> arguments, results;
  for (std::size_t i = 0; i < count; ++i) arguments.push_back(argument_text(program, i));
  for (std::size_t i = 0; i < program.results.size(); ++i)
    results.push_back(result_text(program, i));

  HloWriter writer(program.mesh, program.form);
  writer.bind_arguments(program.graph, "%arg");
  writer.body(program.graph, program.results, "func.return");
  return str(header(program, module_name), "  func.func public @main(", join(arguments, ", "),
             ") -> (", join(results, ", "), ") {\n", writer.take(), "  }\n}\n");
}

}  // namespace smelt::compiler
