// The part of the PJRT C ABI for multi-process runs: the process of each device, and the key-value
// store that processes share while they create clients; see pjrt_abi.h.
#pragma once

#include "pjrt/pjrt_abi.h"

namespace smelt::pjrt_abi {

struct ClientProcessIndex {
  static constexpr Function kFunction{13, "PJRT_Client_ProcessIndex"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  int process_index = 0;  // [out]
  static constexpr auto kLast = &ClientProcessIndex::process_index;
};

struct ClientDevices {
  static constexpr Function kFunction{15, "PJRT_Client_Devices"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  Client* client = nullptr;
  Device* const* devices = nullptr;  // [out] devices of all processes
  std::size_t num_devices = 0;       // [out]
  static constexpr auto kLast = &ClientDevices::num_devices;
};

struct DeviceDescriptionId {
  static constexpr Function kFunction{23, "PJRT_DeviceDescription_Id"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  DeviceDescription* device_description = nullptr;
  int id = 0;  // [out] unique among all processes
  static constexpr auto kLast = &DeviceDescriptionId::id;
};

struct DeviceDescriptionProcessIndex {
  static constexpr Function kFunction{24, "PJRT_DeviceDescription_ProcessIndex"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  DeviceDescription* device_description = nullptr;
  int process_index = 0;  // [out]
  static constexpr auto kLast = &DeviceDescriptionProcessIndex::process_index;
};

struct DeviceDescriptionAttributes {
  static constexpr Function kFunction{25, "PJRT_DeviceDescription_Attributes"};
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  DeviceDescription* device_description = nullptr;
  std::size_t num_attributes = 0;          // [out]
  const NamedValue* attributes = nullptr;  // [out] valid as long as the description
  static constexpr auto kLast = &DeviceDescriptionAttributes::attributes;
};

// ---- callbacks of ClientCreate; called from any thread while the client exists ----

// Creates the error that a callback returns on failure; copies the text.
using CallbackError = Error* (*)(ErrorCode code, const char* message, std::size_t message_size);

// Waits for the value of a key.
struct KeyValueGet {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const char* key = nullptr;
  std::size_t key_size = 0;
  int timeout_in_ms = 0;
  CallbackError* callback_error = nullptr;
  void* user_arg = nullptr;
  char* value = nullptr;                            // [out]
  std::size_t value_size = 0;                       // [out]
  void (*value_deleter_callback)(char*) = nullptr;  // [out]
  static constexpr auto kLast = &KeyValueGet::value_deleter_callback;
};

struct KeyValueTryGet {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const char* key = nullptr;
  std::size_t key_size = 0;
  CallbackError* callback_error = nullptr;
  void* user_arg = nullptr;
  char* value = nullptr;                            // [out]
  std::size_t value_size = 0;                       // [out]
  void (*value_deleter_callback)(char*) = nullptr;  // [out]
  static constexpr auto kLast = &KeyValueTryGet::value_deleter_callback;
};

struct KeyValuePut {
  std::size_t struct_size = 0;
  void* extension_start = nullptr;
  const char* key = nullptr;
  std::size_t key_size = 0;
  const char* value = nullptr;  // valid during the call
  std::size_t value_size = 0;
  CallbackError* callback_error = nullptr;
  void* user_arg = nullptr;
  static constexpr auto kLast = &KeyValuePut::user_arg;
};

using KeyValueGetCallback = Error* (*)(KeyValueGet* args);
using KeyValueTryGetCallback = Error* (*)(KeyValueTryGet* args);
using KeyValuePutCallback = Error* (*)(KeyValuePut* args);

}  // namespace smelt::pjrt_abi
