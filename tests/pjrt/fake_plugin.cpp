// A PJRT plugin without XLA. Its "programs" copy their arguments. It counts the live objects,
// aborts if one is used after its destruction, and fails on request (fake_plugin.h).
#include "pjrt/fake_plugin.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "pjrt/pjrt_abi_compile.h"
#include "pjrt/pjrt_abi_processes.h"

using smelt::pjrt::FakeControl;

namespace smelt::pjrt_abi {

struct Error {
  std::string text;
  ErrorCode code;
};
struct Event {
  bool fails = false;
};
struct DeviceDescription {
  int id = 0, process = 0;
  NamedValue slice = {};
};
struct Device {
  DeviceDescription description;
};
struct Client {
  int process = 0;
  std::vector<Device> devices = {};
  std::vector<Device*> all = {}, own = {}, backwards = {};
};
struct Buffer {
  Device* device;
  ElementType type;
  std::vector<std::int64_t> dims;
  std::vector<char> bytes;
  bool deleted = false;
};
struct Executable {};
struct LoadedExecutable {
  Client* client;
};
struct TopologyDescription {};
struct SerializedExecutable {};

namespace {

pjrt::FakeControl control;
std::set<const void*> alive;

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "fake plugin: %s\n", what);
  std::abort();
}

template <class T>
T* create_object(const char* kind, T object) {
  T* out = new T(std::move(object));
  alive.insert(out);
  ++control.live[kind];
  return out;
}

void check_alive(const void* object) {
  if (!alive.contains(object)) die("a dead object was used");
}

template <class T>
void destroy_object(const char* kind, T* object) {
  check_alive(object);
  alive.erase(object);
  --control.live[kind];
  delete object;
}

Error* make_error() { return create_object("error", Error{control.fail_text, control.fail_code}); }

bool fails_now(const char* function, std::map<std::string, int>& count, bool late) {
  return ++count[function] == control.fail_at && control.fail_late == late &&
         control.fail_function == function;
}

Event* make_event(const char* function) {
  return create_object("event", Event{.fails = fails_now(function, control.made, true)});
}

// ---- the PJRT functions; `call` below counts them and makes them fail on request ----

void run(ErrorDestroy& a) { destroy_object("error", a.error); }
void run(ErrorMessage& a) {
  check_alive(a.error);
  a.message = a.error->text.data();
  a.message_size = a.error->text.size();
}
void run(ErrorGetCode& a) { a.code = a.error->code; }
void run(PluginInitialize&) {}
void run(EventDestroy& a) { destroy_object("event", a.event); }
void run(EventIsReady& a) { a.is_ready = true; }

Error* callback_error(ErrorCode code, const char* text, std::size_t size) {
  return create_object("error", Error{std::string(text, size), code});
}

std::string text_of(Error* error) {
  if (error == nullptr) return "ok";
  const std::string text = std::to_string(static_cast<int>(error->code)) + " " + error->text;
  destroy_object("error", error);
  return text;
}

template <class Args>
std::string call_store(void* callback, void* user, Args args) {
  static CallbackError make = &callback_error;
  args.struct_size = struct_size<Args>();
  args.key = "key";
  args.key_size = 3;
  args.callback_error = &make;
  args.user_arg = user;
  if constexpr (requires { args.timeout_in_ms; }) args.timeout_in_ms = 7;
  if (Error* error = reinterpret_cast<Error* (*)(Args*)>(callback)(&args)) return text_of(error);
  if constexpr (requires { args.value_deleter_callback; }) {
    const std::string value(args.value, args.value_size);
    args.value_deleter_callback(args.value);
    return value;
  }
  return "ok";
}

// Reads "key" in both ways, puts "mine" there twice, and reads it again.
void use_store(const ClientCreate& a) {
  if (a.kv_get_callback == nullptr) return;
  KeyValuePut mine;
  mine.value = "mine";
  mine.value_size = 4;
  const auto put = [&] { return call_store(a.kv_put_callback, a.kv_put_user_arg, mine); };
  const auto try_get = [&] {
    return call_store(a.kv_try_get_callback, a.kv_try_get_user_arg, KeyValueTryGet{});
  };
  const auto get = [&] { return call_store(a.kv_get_callback, a.kv_get_user_arg, KeyValueGet{}); };
  control.stored = try_get();
  control.stored += "; " + get();
  control.stored_after = put();
  for (const std::string& result : {put(), try_get(), get()}) control.stored_after += "; " + result;
}

void run(ClientCreate& a) {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < a.num_options; ++i) {
    const NamedValue& option = a.create_options[i];
    if (std::string(option.name, option.name_size) == "cpu_device_count")
      count = option.int64_value;
  }
  use_store(a);
  a.client = create_object("client", Client{.process = control.processes - 1});
  Client& client = *a.client;
  client.devices.resize(static_cast<std::size_t>(count * control.processes));
  for (std::size_t i = 0; i < client.devices.size(); ++i) {
    Device& device = client.devices[i];
    const int id = static_cast<int>(i);
    device.description = {.id = id, .process = id % control.processes};
    device.description.slice.name = "slice_index";
    device.description.slice.name_size = std::strlen("slice_index");
    device.description.slice.type = ValueType::int64;
    device.description.slice.int64_value = 0;
    client.all.push_back(&device);
    if (device.description.process == client.process) client.own.push_back(&device);
  }
  client.backwards = {client.own.rbegin(), client.own.rend()};
}
void run(ClientDestroy& a) { destroy_object("client", a.client); }
void run(ClientPlatformName& a) {
  check_alive(a.client);
  a.platform_name = "fake";
  a.platform_name_size = 4;
}
void run(ClientAddressableDevices& a) {
  a.addressable_devices = a.client->own.data();
  a.num_addressable_devices = a.client->own.size();
}
void run(ClientDevices& a) {
  a.devices = a.client->all.data();
  a.num_devices = a.client->all.size();
}
void run(ClientProcessIndex& a) { a.process_index = a.client->process; }
void run(DeviceGetDescription& a) { a.device_description = &a.device->description; }
void run(DeviceDescriptionId& a) { a.id = a.device_description->id; }
void run(DeviceDescriptionProcessIndex& a) { a.process_index = a.device_description->process; }
void run(DeviceDescriptionAttributes& a) {
  a.attributes = &a.device_description->slice;
  a.num_attributes = 1;
}
void run(DeviceMemoryStats& a) {
  a.bytes_in_use = 5;
  a.bytes_limit = 7;
  a.bytes_limit_is_set = true;
}
void run(ClientCompile& a) {
  check_alive(a.client);
  control.compile_options.assign(a.compile_options, a.compile_options_size);
  a.executable = create_object("loaded executable", LoadedExecutable{a.client});
}
void run(ClientBufferFromHostBuffer& a) {
  check_alive(a.client);
  std::size_t bytes = 4;
  for (std::size_t i = 0; i < a.num_dims; ++i) bytes *= static_cast<std::size_t>(a.dims[i]);
  const char* data = static_cast<const char*>(a.data);
  a.buffer = create_object("buffer", Buffer{.device = a.device,
                                            .type = a.type,
                                            .dims = {a.dims, a.dims + a.num_dims},
                                            .bytes = {data, data + bytes}});
  a.done_with_host_buffer = make_event(a.kFunction.name);
}

void run(LoadedExecutableDestroy& a) { destroy_object("loaded executable", a.executable); }
void run(LoadedExecutableGetExecutable& a) {
  a.executable = create_object("executable", Executable{});
}
void run(LoadedExecutableAddressableDevices& a) {
  check_alive(a.executable->client);
  a.addressable_devices = a.executable->client->backwards.data();
  a.num_addressable_devices = a.executable->client->backwards.size();
}
void run(ExecutableDestroy& a) { destroy_object("executable", a.executable); }
void run(ExecutableNumOutputs& a) { a.num_outputs = 2; }
void run(ExecutableGetCostAnalysis& a) { a.num_properties = 0; }
void run(ExecutableGetCompiledMemoryStats& a) { a.peak_memory_in_bytes = 11; }
void run(ExecutableSerialize& a) {
  a.serialized_bytes = "program";
  a.serialized_bytes_size = 7;
  a.serialized_executable = create_object("serialized executable", SerializedExecutable{});
  a.serialized_executable_deleter = [](SerializedExecutable* s) {
    destroy_object("serialized executable", s);
  };
}
void run(ExecutableDeserializeAndLoad& a) {
  a.loaded_executable = create_object("loaded executable", LoadedExecutable{a.client});
}

void run(LoadedExecutableExecute& a) {
  check_alive(a.executable);
  control.launches.push_back(a.options->launch_id);
  for (std::size_t device = 0; device < a.num_devices; ++device) {
    for (std::size_t i = 0; i < 2; ++i) {
      Buffer* argument = a.argument_lists[device][i];
      check_alive(argument);
      if (argument->deleted) die("a donated buffer was used");
      if (argument->device != a.executable->client->backwards[device])
        die("a list of another device");
      a.output_lists[device][i] = create_object("buffer", Buffer(*argument));
    }
    a.argument_lists[device][0]->deleted = control.donate_first;
    a.device_complete_events[device] = make_event(a.kFunction.name);
  }
}

void run(BufferDestroy& a) { destroy_object("buffer", a.buffer); }
void run(BufferElementType& a) {
  check_alive(a.buffer);
  a.type = a.buffer->type;
}
void run(BufferDimensions& a) {
  check_alive(a.buffer);
  a.dims = a.buffer->dims.data();
  a.num_dims = a.buffer->dims.size();
}
void run(BufferIsDeleted& a) {
  check_alive(a.buffer);
  a.is_deleted = a.buffer->deleted;
}
void run(BufferToHostBuffer& a) {
  check_alive(a.src);
  if (a.dst_size != a.src->bytes.size()) die("a copy of the wrong size");
  std::memcpy(a.dst, a.src->bytes.data(), a.dst_size);
  a.event = make_event(a.kFunction.name);
}
void run(BufferReadyEvent& a) { a.event = make_event(a.kFunction.name); }

void run(TopologyDescriptionCreate& a) {
  a.topology = create_object("topology", TopologyDescription{});
}
void run(TopologyDescriptionDestroy& a) { destroy_object("topology", a.topology); }
void run(TopologyDescriptionGetDeviceDescriptions& a) { a.num_descriptions = 3; }
void run(Compile& a) { a.executable = create_object("executable", Executable{}); }

template <class Args>
constexpr bool kDestroys = false;
template <>
constexpr bool kDestroys<EventDestroy> = true;
template <>
constexpr bool kDestroys<ClientDestroy> = true;
template <>
constexpr bool kDestroys<BufferDestroy> = true;
template <>
constexpr bool kDestroys<ExecutableDestroy> = true;
template <>
constexpr bool kDestroys<LoadedExecutableDestroy> = true;
template <>
constexpr bool kDestroys<TopologyDescriptionDestroy> = true;

void check_size(const char* function, std::size_t given, std::size_t wanted) {
  if (given != wanted) die(function);
}

template <class Args>
Error* call(Args* args) {
  check_size(Args::kFunction.name, args->struct_size, struct_size<Args>());
  const bool fails = fails_now(Args::kFunction.name, control.calls, false);
  if (!fails || kDestroys<Args>) run(*args);  // an object that could not be destroyed is not a leak
  return fails ? make_error() : nullptr;
}

Error* await(EventAwait* args) {
  check_alive(args->event);
  if (fails_now(EventAwait::kFunction.name, control.calls, false)) return make_error();
  return args->event->fails ? make_error() : nullptr;
}

// The two functions that cannot return an error.
template <class Args>
void call_void(Args* args) {
  check_size(Args::kFunction.name, args->struct_size, struct_size<Args>());
  run(*args);
}

template <class... Args>
void fill(Api& api) {
  ((api.functions[Args::kFunction.index] = reinterpret_cast<void (*)()>(&call<Args>)), ...);
}

Api make_api() {
  Api api;
  api.struct_size = sizeof(Api);
  api.version = {.struct_size = sizeof(Version),
                 .extension_start = nullptr,
                 .major_version = 0,
                 .minor_version = 90};
  api.functions[ErrorDestroy::kFunction.index] =
      reinterpret_cast<void (*)()>(&call_void<ErrorDestroy>);
  api.functions[ErrorMessage::kFunction.index] =
      reinterpret_cast<void (*)()>(&call_void<ErrorMessage>);
  api.functions[EventAwait::kFunction.index] = reinterpret_cast<void (*)()>(&await);
  fill<ErrorGetCode, PluginInitialize, EventDestroy, EventIsReady, ClientCreate, ClientDestroy,
       ClientPlatformName, ClientAddressableDevices, ClientDevices, ClientProcessIndex,
       DeviceGetDescription, DeviceDescriptionId, DeviceDescriptionProcessIndex,
       DeviceDescriptionAttributes, ClientCompile, ClientBufferFromHostBuffer, DeviceMemoryStats,
       LoadedExecutableDestroy, LoadedExecutableGetExecutable, LoadedExecutableAddressableDevices,
       ExecutableDestroy, ExecutableNumOutputs, ExecutableGetCostAnalysis,
       ExecutableGetCompiledMemoryStats, ExecutableSerialize, ExecutableDeserializeAndLoad,
       LoadedExecutableExecute, BufferDestroy, BufferElementType, BufferDimensions, BufferIsDeleted,
       BufferToHostBuffer, BufferReadyEvent, TopologyDescriptionCreate, TopologyDescriptionDestroy,
       TopologyDescriptionGetDeviceDescriptions, Compile>(api);
  return api;
}

}  // namespace
}  // namespace smelt::pjrt_abi

extern "C" smelt::pjrt_abi::Api* GetPjrtApi() {
  static smelt::pjrt_abi::Api api = smelt::pjrt_abi::make_api();
  return &api;
}

extern "C" smelt::pjrt::FakeControl* fake_control() { return &smelt::pjrt_abi::control; }
