#include "pjrt/compiled_program.h"

#include <memory>

namespace smelt::pjrt {

std::size_t CompiledProgram::result_count() const {
  pjrt_abi::ExecutableNumOutputs args{};
  args.executable = handle_.raw();
  return handle_.plugin().call(args).num_outputs;
}

CompiledMemory CompiledProgram::memory() const {
  pjrt_abi::ExecutableGetCompiledMemoryStats args{};
  args.executable = handle_.raw();
  args = handle_.plugin().call(args);
  return {.code_bytes = args.generated_code_size_in_bytes,
          .argument_bytes = args.argument_size_in_bytes,
          .output_bytes = args.output_size_in_bytes,
          .alias_bytes = args.alias_size_in_bytes,
          .temporary_bytes = args.temp_size_in_bytes,
          // The CPU compiler reports as peak only the size of inputs and outputs. A peak smaller
          // than the temporaries is therefore treated as unknown.
          .peak_bytes =
              args.peak_memory_in_bytes < args.temp_size_in_bytes ? 0 : args.peak_memory_in_bytes};
}

std::map<std::string, double> CompiledProgram::cost() const {
  pjrt_abi::ExecutableGetCostAnalysis args{};
  args.executable = handle_.raw();
  args = handle_.plugin().call(args);
  std::map<std::string, double> out;
  for (std::size_t i = 0; i < args.num_properties; ++i) {
    const pjrt_abi::NamedValue& property = args.properties[i];
    const std::string name(property.name, property.name_size);
    if (property.type == pjrt_abi::ValueType::real) out[name] = property.float_value;
    if (property.type == pjrt_abi::ValueType::int64)
      out[name] = static_cast<double>(property.int64_value);
  }
  return out;
}

std::string CompiledProgram::serialize() const {
  pjrt_abi::ExecutableSerialize args{};
  args.executable = handle_.raw();
  args = handle_.plugin().call(args);
  const std::unique_ptr<pjrt_abi::SerializedExecutable, void (*)(pjrt_abi::SerializedExecutable*)>
      owner(args.serialized_executable, args.serialized_executable_deleter);
  return {args.serialized_bytes, args.serialized_bytes_size};
}

std::string CompiledProgram::optimized_module() const {
  pjrt_abi::Program program{};
  program.struct_size = pjrt_abi::struct_size<pjrt_abi::Program>();
  pjrt_abi::ExecutableOptimizedProgram args{};
  args.executable = handle_.raw();
  args.program = &program;
  handle_.plugin().call(args);
  std::string code(program.code_size, '\0');
  program.code = code.data();
  handle_.plugin().call(args);
  return code;
}

}  // namespace smelt::pjrt
