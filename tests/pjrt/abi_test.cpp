// Compares our declarations of the PJRT ABI with the official header, if it is installed: all
// sizes, offsets, indices in the function table and constants.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pjrt/pjrt_abi_compile.h"
#include "pjrt/pjrt_abi_processes.h"
#include "support/missing.h"

#ifdef SMELT_OFFICIAL_HEADER
#include SMELT_OFFICIAL_HEADER

namespace smelt::pjrt {
namespace {

struct Field {
  const char* name;
  std::size_t our_offset, our_size, their_offset, their_size;
};

// Checks that `fields` are all fields of the struct, in order: gaps between them are explained by
// alignment.
void expect_same_fields(const std::string& name, const std::vector<Field>& fields,
                        std::size_t end) {
  std::size_t at = 2 * sizeof(void*);  // struct_size and extension_start
  for (const Field& field : fields) {
    EXPECT_EQ(field.our_offset, field.their_offset) << name << "." << field.name;
    EXPECT_EQ(field.our_size, field.their_size) << name << "." << field.name;
    EXPECT_LT(field.our_offset - at, std::min<std::size_t>(field.our_size, 8))
        << name << ": a field before " << field.name << " is not compared";
    at = field.our_offset + field.our_size;
  }
  EXPECT_EQ(at, end) << name << ": the last field is not compared";
}

#define FIELD(ours, theirs, f)                                                       \
  Field {                                                                            \
    #f, offsetof(pjrt_abi::ours, f), sizeof(pjrt_abi::ours::f), offsetof(theirs, f), \
        sizeof(theirs::f)                                                            \
  }
#define F0(o, t)
#define F1(o, t, a) FIELD(o, t, a)
#define F2(o, t, a, ...) FIELD(o, t, a), F1(o, t, __VA_ARGS__)
#define F3(o, t, a, ...) FIELD(o, t, a), F2(o, t, __VA_ARGS__)
#define F4(o, t, a, ...) FIELD(o, t, a), F3(o, t, __VA_ARGS__)
#define F5(o, t, a, ...) FIELD(o, t, a), F4(o, t, __VA_ARGS__)
#define F6(o, t, a, ...) FIELD(o, t, a), F5(o, t, __VA_ARGS__)
#define F7(o, t, a, ...) FIELD(o, t, a), F6(o, t, __VA_ARGS__)
#define F8(o, t, a, ...) FIELD(o, t, a), F7(o, t, __VA_ARGS__)
#define F9(o, t, a, ...) FIELD(o, t, a), F8(o, t, __VA_ARGS__)
#define F10(o, t, a, ...) FIELD(o, t, a), F9(o, t, __VA_ARGS__)
#define F11(o, t, a, ...) FIELD(o, t, a), F10(o, t, __VA_ARGS__)
#define F12(o, t, a, ...) FIELD(o, t, a), F11(o, t, __VA_ARGS__)
#define F13(o, t, a, ...) FIELD(o, t, a), F12(o, t, __VA_ARGS__)
#define PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, F, ...) F
#define FIELDS(o, t, ...)                                                       \
  PICK(__VA_ARGS__, F13, F12, F11, F10, F9, F8, F7, F6, F5, F4, F3, F2, F1, F0) \
  (o, t, __VA_ARGS__)

#define SAME_STRUCT(ours, theirs, ...)                                                  \
  EXPECT_EQ(sizeof(pjrt_abi::ours), sizeof(theirs)) << #theirs;                         \
  EXPECT_EQ(pjrt_abi::struct_size<pjrt_abi::ours>(), std::size_t{theirs##_STRUCT_SIZE}) \
      << #theirs;                                                                       \
  expect_same_fields(#theirs, {FIELDS(ours, theirs, __VA_ARGS__)},                      \
                     pjrt_abi::struct_size<pjrt_abi::ours>())

#define SAME_PLACE(ours, theirs)                                                                  \
  EXPECT_EQ(offsetof(pjrt_abi::Api, functions) + pjrt_abi::ours::kFunction.index * sizeof(void*), \
            offsetof(PJRT_Api, theirs))                                                           \
      << #theirs;                                                                                 \
  EXPECT_STREQ(pjrt_abi::ours::kFunction.name, #theirs)

#define SAME_FUNCTION(ours, theirs, ...) \
  SAME_PLACE(ours, theirs);              \
  SAME_STRUCT(ours, theirs##_Args, __VA_ARGS__)

TEST(Abi, FunctionTableMatchesTheHeader) {
  EXPECT_EQ(pjrt_abi::kMajorVersion, PJRT_API_MAJOR);
  EXPECT_EQ(offsetof(pjrt_abi::Api, struct_size), offsetof(PJRT_Api, struct_size));
  EXPECT_EQ(offsetof(pjrt_abi::Api, version), offsetof(PJRT_Api, pjrt_api_version));
  EXPECT_EQ(offsetof(pjrt_abi::Api, functions), offsetof(PJRT_Api, PJRT_Error_Destroy));
  EXPECT_LE(sizeof(pjrt_abi::Api), sizeof(PJRT_Api));
  EXPECT_EQ(sizeof(pjrt_abi::Version), sizeof(PJRT_Api_Version));
  EXPECT_EQ(offsetof(pjrt_abi::Version, major_version), offsetof(PJRT_Api_Version, major_version));
  EXPECT_EQ(offsetof(pjrt_abi::Version, minor_version), offsetof(PJRT_Api_Version, minor_version));
}

TEST(Abi, ConstantsMatchTheHeader) {
  const auto same = [](auto ours, auto theirs) {
    EXPECT_EQ(sizeof(ours), sizeof(theirs));
    EXPECT_EQ(static_cast<int>(ours), static_cast<int>(theirs));
  };
  same(pjrt_abi::ErrorCode::ok, PJRT_Error_Code_OK);
  same(pjrt_abi::ErrorCode::unknown, PJRT_Error_Code_UNKNOWN);
  same(pjrt_abi::ErrorCode::deadline_exceeded, PJRT_Error_Code_DEADLINE_EXCEEDED);
  same(pjrt_abi::ErrorCode::not_found, PJRT_Error_Code_NOT_FOUND);
  same(pjrt_abi::ErrorCode::already_exists, PJRT_Error_Code_ALREADY_EXISTS);
  same(pjrt_abi::ErrorCode::internal, PJRT_Error_Code_INTERNAL);
  same(pjrt_abi::ErrorCode::unavailable, PJRT_Error_Code_UNAVAILABLE);
  same(pjrt_abi::ErrorCode::resource_exhausted, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  same(pjrt_abi::ErrorCode::unimplemented, PJRT_Error_Code_UNIMPLEMENTED);
  same(pjrt_abi::ElementType::pred, PJRT_Buffer_Type_PRED);
  same(pjrt_abi::ElementType::s8, PJRT_Buffer_Type_S8);
  same(pjrt_abi::ElementType::s32, PJRT_Buffer_Type_S32);
  same(pjrt_abi::ElementType::s64, PJRT_Buffer_Type_S64);
  same(pjrt_abi::ElementType::u8, PJRT_Buffer_Type_U8);
  same(pjrt_abi::ElementType::u16, PJRT_Buffer_Type_U16);
  same(pjrt_abi::ElementType::u32, PJRT_Buffer_Type_U32);
  same(pjrt_abi::ElementType::u64, PJRT_Buffer_Type_U64);
  same(pjrt_abi::ElementType::f16, PJRT_Buffer_Type_F16);
  same(pjrt_abi::ElementType::f32, PJRT_Buffer_Type_F32);
  same(pjrt_abi::ElementType::f64, PJRT_Buffer_Type_F64);
  same(pjrt_abi::ElementType::bf16, PJRT_Buffer_Type_BF16);
  same(pjrt_abi::HostBufferSemantics::only_during_call,
       PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  same(pjrt_abi::HostBufferSemantics::until_transfer_completes,
       PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes);
  same(pjrt_abi::ValueType::text, PJRT_NamedValue_kString);
  same(pjrt_abi::ValueType::int64, PJRT_NamedValue_kInt64);
  same(pjrt_abi::ValueType::int64_list, PJRT_NamedValue_kInt64List);
  same(pjrt_abi::ValueType::real, PJRT_NamedValue_kFloat);
  same(pjrt_abi::ValueType::boolean, PJRT_NamedValue_kBool);
  EXPECT_EQ(pjrt_abi::MemoryLayout{}.type, PJRT_Buffer_MemoryLayout_Type_Tiled);
}

TEST(Abi, StructsMatchTheHeader) {
  SAME_STRUCT(NamedValue, PJRT_NamedValue, name, name_size, type, int64_value, value_size);
  SAME_STRUCT(Program, PJRT_Program, code, code_size, format, format_size);
  SAME_STRUCT(TiledLayout, PJRT_Buffer_MemoryLayout_Tiled, minor_to_major, minor_to_major_size,
              tile_dims, tile_dim_sizes, num_tiles);
  SAME_STRUCT(MemoryLayout, PJRT_Buffer_MemoryLayout, tiled, type);
  SAME_STRUCT(ExecuteOptions, PJRT_ExecuteOptions, send_callbacks, recv_callbacks, num_send_ops,
              num_recv_ops, launch_id, non_donatable_input_indices, num_non_donatable_input_indices,
              context, call_location, num_tasks, task_ids, incarnation_ids);
}

TEST(Abi, ErrorEventAndDeviceFunctionsMatchTheHeader) {
  SAME_FUNCTION(ErrorDestroy, PJRT_Error_Destroy, error);
  SAME_FUNCTION(ErrorMessage, PJRT_Error_Message, error, message, message_size);
  SAME_FUNCTION(ErrorGetCode, PJRT_Error_GetCode, error, code);
  SAME_PLACE(PluginInitialize, PJRT_Plugin_Initialize);
  EXPECT_EQ(sizeof(pjrt_abi::PluginInitialize), sizeof(PJRT_Plugin_Initialize_Args));
  SAME_FUNCTION(EventDestroy, PJRT_Event_Destroy, event);
  SAME_FUNCTION(EventIsReady, PJRT_Event_IsReady, event, is_ready);
  SAME_FUNCTION(EventAwait, PJRT_Event_Await, event);
  SAME_FUNCTION(DeviceDescriptionKind, PJRT_DeviceDescription_Kind, device_description, device_kind,
                device_kind_size);
  SAME_FUNCTION(DeviceGetDescription, PJRT_Device_GetDescription, device, device_description);
  SAME_PLACE(DeviceMemoryStats, PJRT_Device_MemoryStats);
  EXPECT_EQ(pjrt_abi::struct_size<pjrt_abi::DeviceMemoryStats>(),
            std::size_t{PJRT_Device_MemoryStats_Args_STRUCT_SIZE});
  expect_same_fields(
      "first half of PJRT_Device_MemoryStats_Args",
      {FIELDS(DeviceMemoryStats, PJRT_Device_MemoryStats_Args, device, bytes_in_use,
              peak_bytes_in_use, peak_bytes_in_use_is_set, num_allocs, num_allocs_is_set,
              largest_alloc_size, largest_alloc_size_is_set, bytes_limit, bytes_limit_is_set)},
      offsetof(pjrt_abi::DeviceMemoryStats, bytes_limit_is_set) + 1);
}

TEST(Abi, ClientFunctionsMatchTheHeader) {
  SAME_FUNCTION(ClientCreate, PJRT_Client_Create, create_options, num_options, kv_get_callback,
                kv_get_user_arg, kv_put_callback, kv_put_user_arg, client, kv_try_get_callback,
                kv_try_get_user_arg);
  SAME_FUNCTION(ClientDestroy, PJRT_Client_Destroy, client);
  SAME_FUNCTION(ClientPlatformName, PJRT_Client_PlatformName, client, platform_name,
                platform_name_size);
  SAME_FUNCTION(ClientPlatformVersion, PJRT_Client_PlatformVersion, client, platform_version,
                platform_version_size);
  SAME_FUNCTION(ClientAddressableDevices, PJRT_Client_AddressableDevices, client,
                addressable_devices, num_addressable_devices);
  SAME_FUNCTION(ClientCompile, PJRT_Client_Compile, client, program, compile_options,
                compile_options_size, executable);
  SAME_FUNCTION(ClientBufferFromHostBuffer, PJRT_Client_BufferFromHostBuffer, client, data, type,
                dims, num_dims, byte_strides, num_byte_strides, host_buffer_semantics, device,
                memory, device_layout, done_with_host_buffer, buffer);
}

TEST(Abi, MultiProcessFunctionsMatchTheHeader) {
  SAME_FUNCTION(ClientProcessIndex, PJRT_Client_ProcessIndex, client, process_index);
  SAME_FUNCTION(ClientDevices, PJRT_Client_Devices, client, devices, num_devices);
  SAME_FUNCTION(DeviceDescriptionId, PJRT_DeviceDescription_Id, device_description, id);
  SAME_FUNCTION(DeviceDescriptionProcessIndex, PJRT_DeviceDescription_ProcessIndex,
                device_description, process_index);
  SAME_FUNCTION(DeviceDescriptionAttributes, PJRT_DeviceDescription_Attributes, device_description,
                num_attributes, attributes);
  SAME_STRUCT(KeyValueGet, PJRT_KeyValueGetCallback_Args, key, key_size, timeout_in_ms,
              callback_error, user_arg, value, value_size, value_deleter_callback);
  SAME_STRUCT(KeyValueTryGet, PJRT_KeyValueTryGetCallback_Args, key, key_size, callback_error,
              user_arg, value, value_size, value_deleter_callback);
  SAME_STRUCT(KeyValuePut, PJRT_KeyValuePutCallback_Args, key, key_size, value, value_size,
              callback_error, user_arg);
}

TEST(Abi, ExecutableFunctionsMatchTheHeader) {
  SAME_FUNCTION(ExecutableDestroy, PJRT_Executable_Destroy, executable);
  SAME_FUNCTION(ExecutableNumOutputs, PJRT_Executable_NumOutputs, executable, num_outputs);
  SAME_FUNCTION(ExecutableGetCostAnalysis, PJRT_Executable_GetCostAnalysis, executable,
                num_properties, properties);
  SAME_FUNCTION(ExecutableOptimizedProgram, PJRT_Executable_OptimizedProgram, executable, program);
  SAME_FUNCTION(ExecutableSerialize, PJRT_Executable_Serialize, executable, serialized_bytes,
                serialized_bytes_size, serialized_executable, serialized_executable_deleter);
  SAME_FUNCTION(LoadedExecutableDestroy, PJRT_LoadedExecutable_Destroy, executable);
  SAME_FUNCTION(LoadedExecutableGetExecutable, PJRT_LoadedExecutable_GetExecutable,
                loaded_executable, executable);
  SAME_FUNCTION(LoadedExecutableAddressableDevices, PJRT_LoadedExecutable_AddressableDevices,
                executable, addressable_devices, num_addressable_devices);
  SAME_FUNCTION(LoadedExecutableExecute, PJRT_LoadedExecutable_Execute, executable, options,
                argument_lists, num_devices, num_args, output_lists, device_complete_events,
                execute_device);
  SAME_FUNCTION(ExecutableDeserializeAndLoad, PJRT_Executable_DeserializeAndLoad, client,
                serialized_executable, serialized_executable_size, loaded_executable,
                overridden_serialized_compile_options, overridden_serialized_compile_options_size);
}

TEST(Abi, ProgramMemoryStatsMatchTheHeader) {
  SAME_PLACE(ExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats);
#if PJRT_API_MINOR >= 90
  SAME_STRUCT(ExecutableGetCompiledMemoryStats, PJRT_Executable_GetCompiledMemoryStats_Args,
              executable, generated_code_size_in_bytes, argument_size_in_bytes,
              output_size_in_bytes, alias_size_in_bytes, temp_size_in_bytes,
              host_generated_code_size_in_bytes, host_argument_size_in_bytes,
              host_output_size_in_bytes, host_alias_size_in_bytes, host_temp_size_in_bytes,
              peak_memory_in_bytes, total_size_in_bytes);
#else
  EXPECT_EQ(offsetof(pjrt_abi::ExecutableGetCompiledMemoryStats, total_size_in_bytes),
            std::size_t{PJRT_Executable_GetCompiledMemoryStats_Args_STRUCT_SIZE});
#endif
}

TEST(Abi, BufferFunctionsMatchTheHeader) {
  SAME_FUNCTION(BufferDestroy, PJRT_Buffer_Destroy, buffer);
  SAME_FUNCTION(BufferElementType, PJRT_Buffer_ElementType, buffer, type);
  SAME_FUNCTION(BufferDimensions, PJRT_Buffer_Dimensions, buffer, dims, num_dims);
  SAME_FUNCTION(BufferIsDeleted, PJRT_Buffer_IsDeleted, buffer, is_deleted);
  SAME_FUNCTION(BufferToHostBuffer, PJRT_Buffer_ToHostBuffer, src, host_layout, dst, dst_size,
                event);
  SAME_FUNCTION(BufferReadyEvent, PJRT_Buffer_ReadyEvent, buffer, event);
}

TEST(Abi, TopologyFunctionsMatchTheHeader) {
  SAME_FUNCTION(TopologyDescriptionCreate, PJRT_TopologyDescription_Create, topology_name,
                topology_name_size, create_options, num_options, topology);
  SAME_FUNCTION(TopologyDescriptionDestroy, PJRT_TopologyDescription_Destroy, topology);
  SAME_FUNCTION(TopologyDescriptionGetDeviceDescriptions,
                PJRT_TopologyDescription_GetDeviceDescriptions, topology, descriptions,
                num_descriptions);
  SAME_FUNCTION(Compile, PJRT_Compile, topology, program, compile_options, compile_options_size,
                client, executable);
}

}  // namespace
}  // namespace smelt::pjrt

#else

TEST(Abi, MatchesTheHeader) {
  SKIP_OR_FAIL_WITHOUT("oracle",
                       "no pjrt_c_api.h in .venv-oracle or .venv when the build was configured: "
                       "run scripts/test");
}

#endif
