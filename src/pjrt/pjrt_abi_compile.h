// The part of the PJRT C ABI that compiles and runs programs; see pjrt_abi.h.
#pragma once

#include "pjrt/pjrt_abi.h"

namespace smelt::pjrt_abi {

struct Program {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const char* code = nullptr;
  std::size_t code_size = 0;
  const char* format = nullptr;
  std::size_t format_size = 0;
  static constexpr auto kLast = &Program::format_size;
};

struct ClientCompile {
  static constexpr Function kFunction{20, "PJRT_Client_Compile"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  const Program* program = nullptr;
  const char* compile_options = nullptr;  // a serialized CompileOptionsProto
  std::size_t compile_options_size = 0;
  LoadedExecutable* executable = nullptr;  // [out]
  static constexpr auto kLast = &ClientCompile::executable;
};

struct ExecutableDestroy {
  static constexpr Function kFunction{40, "PJRT_Executable_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Executable* executable = nullptr;
  static constexpr auto kLast = &ExecutableDestroy::executable;
};

struct ExecutableNumOutputs {
  static constexpr Function kFunction{44, "PJRT_Executable_NumOutputs"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Executable* executable = nullptr;
  std::size_t num_outputs = 0;  // [out]
  static constexpr auto kLast = &ExecutableNumOutputs::num_outputs;
};

struct ExecutableGetCostAnalysis {
  static constexpr Function kFunction{46, "PJRT_Executable_GetCostAnalysis"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Executable* executable = nullptr;
  std::size_t num_properties = 0;          // [out]
  const NamedValue* properties = nullptr;  // [out] valid as long as the executable
  static constexpr auto kLast = &ExecutableGetCostAnalysis::properties;
};

struct ExecutableOptimizedProgram {
  static constexpr Function kFunction{48, "PJRT_Executable_OptimizedProgram"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Executable* executable = nullptr;
  Program* program = nullptr;  // code null: only returns the size; otherwise fills the buffer
  static constexpr auto kLast = &ExecutableOptimizedProgram::program;
};

struct ExecutableSerialize {
  static constexpr Function kFunction{49, "PJRT_Executable_Serialize"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const Executable* executable = nullptr;
  const char* serialized_bytes = nullptr;                                  // [out]
  std::size_t serialized_bytes_size = 0;                                   // [out]
  SerializedExecutable* serialized_executable = nullptr;                   // [out] owns the bytes
  void (*serialized_executable_deleter)(SerializedExecutable*) = nullptr;  // [out]
  static constexpr auto kLast = &ExecutableSerialize::serialized_executable_deleter;
};

struct LoadedExecutableDestroy {
  static constexpr Function kFunction{50, "PJRT_LoadedExecutable_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  LoadedExecutable* executable = nullptr;
  static constexpr auto kLast = &LoadedExecutableDestroy::executable;
};

struct LoadedExecutableGetExecutable {
  static constexpr Function kFunction{51, "PJRT_LoadedExecutable_GetExecutable"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  LoadedExecutable* loaded_executable = nullptr;
  Executable* executable = nullptr;  // [out] destroyed by the caller
  static constexpr auto kLast = &LoadedExecutableGetExecutable::executable;
};

struct LoadedExecutableAddressableDevices {
  static constexpr Function kFunction{52, "PJRT_LoadedExecutable_AddressableDevices"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  LoadedExecutable* executable = nullptr;
  Device* const* addressable_devices = nullptr;  // [out]
  std::size_t num_addressable_devices = 0;       // [out]
  static constexpr auto kLast = &LoadedExecutableAddressableDevices::num_addressable_devices;
};

struct ExecuteOptions {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  void* send_callbacks = nullptr;
  void* recv_callbacks = nullptr;
  std::size_t num_send_ops = 0;
  std::size_t num_recv_ops = 0;
  int launch_id = 0;
  const std::int64_t* non_donatable_input_indices = nullptr;
  std::size_t num_non_donatable_input_indices = 0;
  ExecuteContext* context = nullptr;
  const char* call_location = nullptr;
  std::size_t num_tasks = 0;
  int* task_ids = nullptr;
  std::int64_t* incarnation_ids = nullptr;
  static constexpr auto kLast = &ExecuteOptions::incarnation_ids;
};

struct LoadedExecutableExecute {
  static constexpr Function kFunction{55, "PJRT_LoadedExecutable_Execute"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  LoadedExecutable* executable = nullptr;
  ExecuteOptions* options = nullptr;
  Buffer* const* const* argument_lists = nullptr;  // [device][argument]
  std::size_t num_devices = 0;
  std::size_t num_args = 0;
  Buffer** const* output_lists = nullptr;    // [device][result], filled by the plugin
  Event** device_complete_events = nullptr;  // [device], filled by the plugin
  Device* execute_device = nullptr;          // null: the devices the program was compiled for
  static constexpr auto kLast = &LoadedExecutableExecute::execute_device;
};

struct ExecutableDeserializeAndLoad {
  static constexpr Function kFunction{56, "PJRT_Executable_DeserializeAndLoad"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  const char* serialized_executable = nullptr;
  std::size_t serialized_executable_size = 0;
  LoadedExecutable* loaded_executable = nullptr;  // [out]
  const char* overridden_serialized_compile_options = nullptr;
  std::size_t overridden_serialized_compile_options_size = 0;
  static constexpr auto kLast =
      &ExecutableDeserializeAndLoad::overridden_serialized_compile_options_size;
};

struct ExecutableGetCompiledMemoryStats {
  static constexpr Function kFunction{96, "PJRT_Executable_GetCompiledMemoryStats"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Executable* executable = nullptr;
  std::int64_t generated_code_size_in_bytes = 0;  // all [out]
  std::int64_t argument_size_in_bytes = 0;
  std::int64_t output_size_in_bytes = 0;
  std::int64_t alias_size_in_bytes = 0;
  std::int64_t temp_size_in_bytes = 0;
  std::int64_t host_generated_code_size_in_bytes = 0;
  std::int64_t host_argument_size_in_bytes = 0;
  std::int64_t host_output_size_in_bytes = 0;
  std::int64_t host_alias_size_in_bytes = 0;
  std::int64_t host_temp_size_in_bytes = 0;
  std::int64_t peak_memory_in_bytes = 0;
  std::int64_t total_size_in_bytes = 0;  // since ABI 0.90; 0 in older plugins
  static constexpr auto kLast = &ExecutableGetCompiledMemoryStats::total_size_in_bytes;
};

// ---- topologies: compilation for devices that are not present ----

struct TopologyDescriptionCreate {
  static constexpr Function kFunction{82, "PJRT_TopologyDescription_Create"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const char* topology_name = nullptr;
  std::size_t topology_name_size = 0;
  const NamedValue* create_options = nullptr;
  std::size_t num_options = 0;
  TopologyDescription* topology = nullptr;  // [out]
  static constexpr auto kLast = &TopologyDescriptionCreate::topology;
};

struct TopologyDescriptionDestroy {
  static constexpr Function kFunction{83, "PJRT_TopologyDescription_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  TopologyDescription* topology = nullptr;
  static constexpr auto kLast = &TopologyDescriptionDestroy::topology;
};

struct TopologyDescriptionGetDeviceDescriptions {
  static constexpr Function kFunction{86, "PJRT_TopologyDescription_GetDeviceDescriptions"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const TopologyDescription* topology = nullptr;
  DeviceDescription* const* descriptions = nullptr;  // [out]
  std::size_t num_descriptions = 0;                  // [out]
  static constexpr auto kLast = &TopologyDescriptionGetDeviceDescriptions::num_descriptions;
};

struct Compile {
  static constexpr Function kFunction{89, "PJRT_Compile"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const TopologyDescription* topology = nullptr;
  const Program* program = nullptr;
  const char* compile_options = nullptr;
  std::size_t compile_options_size = 0;
  Client* client = nullptr;          // null: ahead-of-time compilation
  Executable* executable = nullptr;  // [out]
  static constexpr auto kLast = &Compile::executable;
};

}  // namespace smelt::pjrt_abi
