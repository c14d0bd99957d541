// The part of the PJRT C ABI, version 0.x, that smelt uses: struct layouts and function indices
// with their official names. abi_test compares them with the official header (openxla/xla,
// xla/pjrt/c/pjrt_c_api.h). Fields marked [out] are written by the plugin. Only the class Plugin
// calls these functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace smelt::pjrt_abi {

// Opaque objects of the plugin.
struct Error;
struct Event;
struct Client;
struct Device;
struct DeviceDescription;
struct Memory;
struct Buffer;
struct Executable;
struct LoadedExecutable;
struct TopologyDescription;
struct ExecuteContext;
struct SerializedExecutable;

constexpr int kMajorVersion = 0;

// A function: its index in the function table and its official name.
struct Function {
  std::size_t index;
  const char* name;
};

struct Version {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  int major_version = 0;
  int minor_version = 0;
};

// The result of GetPjrtApi. The plugin's table ends at its struct_size, which may be smaller or
// larger than ours.
struct Api {
  static constexpr std::size_t kFunctions = 118;
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Version version;
  void (*functions[kFunctions])() = {};
};

// Returns the value for a struct's struct_size: the size up to the end of its last field. sizeof
// would include trailing padding. A newer plugin may have added a field at that place, and would
// read the padding as its value.
template <class T>
std::size_t struct_size() {
  T t{};
  const auto* end = reinterpret_cast<const char*>(&(t.*T::kLast) + 1);
  return static_cast<std::size_t>(end - reinterpret_cast<const char*>(&t));
}

enum class ErrorCode : int {
  ok = 0,
  unknown = 2,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14
};

enum class ElementType : int {
  pred = 1,
  s8 = 2,
  s32 = 4,
  s64 = 5,
  u8 = 6,
  u16 = 7,
  u32 = 8,
  u64 = 9,
  f16 = 10,
  f32 = 11,
  f64 = 12,
  bf16 = 13
};

enum class HostBufferSemantics : int { only_during_call = 0, until_transfer_completes = 1 };

enum class ValueType : int { text = 0, int64 = 1, int64_list = 2, real = 3, boolean = 4 };

struct NamedValue {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const char* name = nullptr;
  std::size_t name_size = 0;
  ValueType type = ValueType::text;
  union {
    const char* string_value = nullptr;
    std::int64_t int64_value;
    const std::int64_t* int64_array_value;
    float float_value;
    bool bool_value;
  };
  std::size_t value_size = 0;  // number of characters or elements; otherwise 1
  static constexpr auto kLast = &NamedValue::value_size;
};

struct TiledLayout {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const std::int64_t* minor_to_major = nullptr;
  std::size_t minor_to_major_size = 0;
  const std::int64_t* tile_dims = nullptr;
  const std::size_t* tile_dim_sizes = nullptr;
  std::size_t num_tiles = 0;
  static constexpr auto kLast = &TiledLayout::num_tiles;
};

// The official struct has a union of two layouts here; `tiled` is the larger one.
struct MemoryLayout {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  TiledLayout tiled;
  int type = 0;  // 0: tiled
  static constexpr auto kLast = &MemoryLayout::type;
};

// ---- errors ----

struct ErrorDestroy {
  static constexpr Function kFunction{0, "PJRT_Error_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Error* error = nullptr;
  static constexpr auto kLast = &ErrorDestroy::error;
};

struct ErrorMessage {
  static constexpr Function kFunction{1, "PJRT_Error_Message"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const Error* error = nullptr;
  const char* message = nullptr;  // [out] valid as long as the error
  std::size_t message_size = 0;   // [out]
  static constexpr auto kLast = &ErrorMessage::message_size;
};

struct ErrorGetCode {
  static constexpr Function kFunction{2, "PJRT_Error_GetCode"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const Error* error = nullptr;
  ErrorCode code = ErrorCode::ok;  // [out]
  static constexpr auto kLast = &ErrorGetCode::code;
};

struct PluginInitialize {
  static constexpr Function kFunction{3, "PJRT_Plugin_Initialize"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  static constexpr auto kLast = &PluginInitialize::extension_start;
};

// ---- events ----

struct EventDestroy {
  static constexpr Function kFunction{5, "PJRT_Event_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Event* event = nullptr;
  static constexpr auto kLast = &EventDestroy::event;
};

struct EventIsReady {
  static constexpr Function kFunction{6, "PJRT_Event_IsReady"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Event* event = nullptr;
  bool is_ready = false;  // [out]
  static constexpr auto kLast = &EventIsReady::is_ready;
};

// Blocks until the work of the event has ended; the call returns the error of that work.
struct EventAwait {
  static constexpr Function kFunction{8, "PJRT_Event_Await"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Event* event = nullptr;
  static constexpr auto kLast = &EventAwait::event;
};

// ---- client ----

struct ClientCreate {
  static constexpr Function kFunction{10, "PJRT_Client_Create"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const NamedValue* create_options = nullptr;
  std::size_t num_options = 0;
  void* kv_get_callback = nullptr;  // kv_…: see pjrt_abi_processes.h
  void* kv_get_user_arg = nullptr;
  void* kv_put_callback = nullptr;
  void* kv_put_user_arg = nullptr;
  Client* client = nullptr;  // [out]
  void* kv_try_get_callback = nullptr;
  void* kv_try_get_user_arg = nullptr;
  static constexpr auto kLast = &ClientCreate::kv_try_get_user_arg;
};

struct ClientDestroy {
  static constexpr Function kFunction{11, "PJRT_Client_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  static constexpr auto kLast = &ClientDestroy::client;
};

struct ClientPlatformName {
  static constexpr Function kFunction{12, "PJRT_Client_PlatformName"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  const char* platform_name = nullptr;  // [out] valid as long as the client
  std::size_t platform_name_size = 0;   // [out]
  static constexpr auto kLast = &ClientPlatformName::platform_name_size;
};

struct ClientPlatformVersion {
  static constexpr Function kFunction{14, "PJRT_Client_PlatformVersion"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  const char* platform_version = nullptr;  // [out]
  std::size_t platform_version_size = 0;   // [out]
  static constexpr auto kLast = &ClientPlatformVersion::platform_version_size;
};

struct ClientAddressableDevices {
  static constexpr Function kFunction{16, "PJRT_Client_AddressableDevices"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  Device* const* addressable_devices = nullptr;  // [out]
  std::size_t num_addressable_devices = 0;       // [out]
  static constexpr auto kLast = &ClientAddressableDevices::num_addressable_devices;
};

struct ClientBufferFromHostBuffer {
  static constexpr Function kFunction{22, "PJRT_Client_BufferFromHostBuffer"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  const void* data = nullptr;
  ElementType type = ElementType::f32;
  const std::int64_t* dims = nullptr;
  std::size_t num_dims = 0;
  const std::int64_t* byte_strides = nullptr;  // null: row-major
  std::size_t num_byte_strides = 0;
  HostBufferSemantics host_buffer_semantics = HostBufferSemantics::only_during_call;
  Device* device = nullptr;
  Memory* memory = nullptr;
  void* device_layout = nullptr;
  Event* done_with_host_buffer = nullptr;  // [out]
  Buffer* buffer = nullptr;                // [out]
  static constexpr auto kLast = &ClientBufferFromHostBuffer::buffer;
};

// ---- devices ----

struct DeviceDescriptionKind {
  static constexpr Function kFunction{26, "PJRT_DeviceDescription_Kind"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  DeviceDescription* device_description = nullptr;
  const char* device_kind = nullptr;  // [out]
  std::size_t device_kind_size = 0;   // [out]
  static constexpr auto kLast = &DeviceDescriptionKind::device_kind_size;
};

struct DeviceGetDescription {
  static constexpr Function kFunction{29, "PJRT_Device_GetDescription"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Device* device = nullptr;
  DeviceDescription* device_description = nullptr;  // [out]
  static constexpr auto kLast = &DeviceGetDescription::device_description;
};

// A value is valid only if its `_is_set` is true; bytes_in_use is always valid.
struct DeviceMemoryStats {
  static constexpr Function kFunction{34, "PJRT_Device_MemoryStats"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Device* device = nullptr;
  std::int64_t bytes_in_use = 0;  // all [out]
  std::int64_t peak_bytes_in_use = 0;
  bool peak_bytes_in_use_is_set = false;
  std::int64_t num_allocs = 0;
  bool num_allocs_is_set = false;
  std::int64_t largest_alloc_size = 0;
  bool largest_alloc_size_is_set = false;
  std::int64_t bytes_limit = 0;
  bool bytes_limit_is_set = false;
  std::int64_t bytes_reserved = 0;
  bool bytes_reserved_is_set = false;
  std::int64_t peak_bytes_reserved = 0;
  bool peak_bytes_reserved_is_set = false;
  std::int64_t bytes_reservable_limit = 0;
  bool bytes_reservable_limit_is_set = false;
  std::int64_t largest_free_block_bytes = 0;
  bool largest_free_block_bytes_is_set = false;
  std::int64_t pool_bytes = 0;
  bool pool_bytes_is_set = false;
  std::int64_t peak_pool_bytes = 0;
  bool peak_pool_bytes_is_set = false;
  static constexpr auto kLast = &DeviceMemoryStats::peak_pool_bytes_is_set;
};

// ---- buffers ----

struct BufferDestroy {
  static constexpr Function kFunction{58, "PJRT_Buffer_Destroy"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Buffer* buffer = nullptr;
  static constexpr auto kLast = &BufferDestroy::buffer;
};

struct BufferElementType {
  static constexpr Function kFunction{59, "PJRT_Buffer_ElementType"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Buffer* buffer = nullptr;
  ElementType type = ElementType::f32;  // [out]
  static constexpr auto kLast = &BufferElementType::type;
};

struct BufferDimensions {
  static constexpr Function kFunction{60, "PJRT_Buffer_Dimensions"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Buffer* buffer = nullptr;
  const std::int64_t* dims = nullptr;  // [out] valid as long as the buffer
  std::size_t num_dims = 0;            // [out]
  static constexpr auto kLast = &BufferDimensions::num_dims;
};

struct BufferIsDeleted {
  static constexpr Function kFunction{68, "PJRT_Buffer_IsDeleted"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Buffer* buffer = nullptr;
  bool is_deleted = false;  // [out] true also after donation
  static constexpr auto kLast = &BufferIsDeleted::is_deleted;
};

struct BufferToHostBuffer {
  static constexpr Function kFunction{70, "PJRT_Buffer_ToHostBuffer"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Buffer* src = nullptr;
  const MemoryLayout* host_layout = nullptr;  // null: the device's own layout
  void* dst = nullptr;
  std::size_t dst_size = 0;
  Event* event = nullptr;  // [out]
  static constexpr auto kLast = &BufferToHostBuffer::event;
};

struct BufferReadyEvent {
  static constexpr Function kFunction{72, "PJRT_Buffer_ReadyEvent"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Buffer* buffer = nullptr;
  Event* event = nullptr;  // [out]
  static constexpr auto kLast = &BufferReadyEvent::event;
};

}  // namespace smelt::pjrt_abi
