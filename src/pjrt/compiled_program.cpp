#include "pjrt/compiled_program.h"

#include <memory>

namespace smelt {

std::size_t CompiledProgram::result_count() const {
  pjrt::ExecutableNumOutputs args{};
  args.executable = handle_.raw();
  return handle_.plugin().call(args).num_outputs;
}

CompiledMemory CompiledProgram::memory() const {
  pjrt::ExecutableGetCompiledMemoryStats args{};
  args.executable = handle_.raw();
  args = handle_.plugin().call(args);
  return {.code_bytes = args.generated_code_size_in_bytes,
          .argument_bytes = args.argument_size_in_bytes,
          .output_bytes = args.output_size_in_bytes,
          .alias_bytes = args.alias_size_in_bytes,
          .temporary_bytes = args.temp_size_in_bytes,
          // The CPU compiler reports only the size of inputs and outputs, which is not a peak.
          .peak_bytes =
              args.peak_memory_in_bytes < args.temp_size_in_bytes ? 0 : args.peak_memory_in_bytes};
}

std::map<std::string, double> CompiledProgram::cost() const {
  pjrt::ExecutableGetCostAnalysis args{};
  args.executable = handle_.raw();
  args = handle_.plugin().call(args);
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < args.num_properties; ++i) {
    const pjrt::NamedValue& property = args.properties[i];
    const std::string name(property.name, property.name_size);
    if (property.type == pjrt::ValueType::real) out[name] = property.float_value;
    if (property.type == pjrt::ValueType::int64)
      out[name] = static_cast<double>(property.int64_value);
  }
  return out;
}

std::string CompiledProgram::serialize() const {
  pjrt::ExecutableSerialize args{};
  args.executable = handle_.raw();
  args = handle_.plugin().call(args);
  const std::unique_ptr<pjrt::SerializedExecutable, void (*)(pjrt::SerializedExecutable*)> owner(
      args.serialized_executable, args.serialized_executable_deleter);
  return {args.serialized_bytes, args.serialized_bytes_size};
}

std::string CompiledProgram::optimized_module() const {
  pjrt::Program program{};
  program.struct_size = pjrt::struct_size<pjrt::Program>();
  pjrt::ExecutableOptimizedProgram args{};
  args.executable = handle_.raw();
  args.program = &program;
  handle_.plugin().call(args);
  std::string code(program.code_size, '\0');
  program.code = code.data();
  handle_.plugin().call(args);
  return code;
}

}  // namespace smelt
