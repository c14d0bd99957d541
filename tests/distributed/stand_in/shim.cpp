// The PJRT plugin of one process of a pod that one machine simulates. The devices, arrays and
// programs of all processes are in the server (distributed/stand_in/server.cpp). Results are
// promises until all processes have launched the program. The headers of this folder describe what
// is imitated of a real pod.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "distributed/stand_in/connection.h"
#include "pjrt/pjrt_abi_compile.h"
#include "pjrt/pjrt_abi_processes.h"

namespace smelt::pjrt_abi {

using stand_in::Fault;
using stand_in::Op;
using stand_in::Packer;
using stand_in::ProgramFacts;
using stand_in::Session;
using stand_in::Unpacker;

struct Error {
  Fault fault;
};
struct DeviceDescription {
  int id = 0, process = 0;
};
struct Device {
  DeviceDescription description;
};
struct Client {
  Client() : session(std::make_shared<const Session>()) {}
  Device* device(int id) { return &devices[static_cast<std::size_t>(id)]; }

  std::shared_ptr<const Session> session;
  int process = 0;
  std::vector<Device> devices;  // by id
  std::vector<Device*> all, own;
  std::string platform, version;
};
struct Event {
  // `promise` is the array or launch, or `copy` the copy to the host, that the event waits for; 0
  // if it waits for nothing.
  std::shared_ptr<const Session> session;
  std::uint64_t promise = 0, copy = 0;
  void* to = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const void> kept = nullptr;
};
struct Buffer {
  std::shared_ptr<const Session> session;
  std::uint64_t number = 0;
  ElementType type = ElementType::f32;
  std::vector<std::int64_t> dims;
  bool deleted = false;
};
// A program of the server, shared by a LoadedExecutable and its Executables.
struct Loaded {
  Loaded(Client& client, const std::string& answer) : session(client.session) {
    Unpacker in(answer);
    facts = ProgramFacts::unpack(in);
    for (const int id : facts.own_ids) devices.push_back(client.device(id));
  }
  ~Loaded() { session->tell(Op::drop_program, Packer().add(facts.number).take()); }
  std::string ask(Op op) const { return session->call(op, Packer().add(facts.number).take()); }

  std::shared_ptr<const Session> session;
  ProgramFacts facts;
  std::vector<Device*> devices;
};
struct Executable {
  std::shared_ptr<const Loaded> loaded;
  std::string optimized = {};
  std::vector<std::string> names = {};
  std::vector<NamedValue> cost = {};
};
struct LoadedExecutable {
  std::shared_ptr<const Loaded> loaded;
};
struct SerializedExecutable {
  std::string bytes;
};

namespace {

[[noreturn]] void refuse(const std::string& text) { throw Fault{ErrorCode::unknown, text}; }

// ---- errors and events ----

void run(PluginInitialize&) {}
void run(ErrorGetCode& a) { a.code = a.error->fault.code; }
void run(EventDestroy& a) {
  if (a.event->copy != 0) a.event->session->tell(Op::drop_copy, Packer().add(a.event->copy).take());
  delete a.event;
}
// A copy to the host always counts as ready: EventAwait fetches it.
void run(EventIsReady& a) {
  a.is_ready = true;
  if (a.event->promise == 0) return;
  const std::string answer =
      a.event->session->call(Op::ready, Packer().add(a.event->promise).take());
  a.is_ready = Unpacker(answer).take<bool>();
}
void run(EventAwait& a) {
  Event& event = *a.event;
  if (event.promise != 0) event.session->call(Op::await, Packer().add(event.promise).take());
  if (event.copy == 0) return;
  const std::string bytes = event.session->call(Op::fetch, Packer().add(event.copy).take());
  if (bytes.size() != event.size) refuse("a copy of the wrong size");
  std::memcpy(event.to, bytes.data(), bytes.size());
  event.copy = 0;
}

// ---- client and devices ----

void run(ClientCreate& a) {
  auto client = std::make_unique<Client>();
  Unpacker in(client->session->welcome());
  client->process = in.take<std::int32_t>();
  const auto process_of = in.list<std::int32_t>();
  client->platform = in.text();
  client->version = in.text();
  for (std::size_t id = 0; id < process_of.size(); ++id)
    client->devices.push_back({{static_cast<int>(id), process_of[id]}});
  for (Device& device : client->devices) {
    client->all.push_back(&device);
    if (device.description.process == client->process) client->own.push_back(&device);
  }
  std::ranges::reverse(client->all);  // PJRT promises no order, so callers must not rely on one
  a.client = client.release();
}
void run(ClientDestroy& a) { delete a.client; }
void run(ClientPlatformName& a) {
  a.platform_name = a.client->platform.data();
  a.platform_name_size = a.client->platform.size();
}
void run(ClientPlatformVersion& a) {
  a.platform_version = a.client->version.data();
  a.platform_version_size = a.client->version.size();
}
void run(ClientProcessIndex& a) { a.process_index = a.client->process; }
void run(ClientDevices& a) {
  a.devices = a.client->all.data();
  a.num_devices = a.client->all.size();
}
void run(ClientAddressableDevices& a) {
  a.addressable_devices = a.client->own.data();
  a.num_addressable_devices = a.client->own.size();
}
void run(DeviceGetDescription& a) { a.device_description = &a.device->description; }
void run(DeviceDescriptionId& a) { a.id = a.device_description->id; }
void run(DeviceDescriptionProcessIndex& a) { a.process_index = a.device_description->process; }
void run(DeviceDescriptionAttributes& a) { a.num_attributes = 0; }
void run(DeviceDescriptionKind& a) {
  a.device_kind = "stand-in";
  a.device_kind_size = std::strlen(a.device_kind);
}

// ---- arrays ----

std::int64_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::pred:
    case ElementType::s8:
    case ElementType::u8:
      return 1;
    case ElementType::u16:
    case ElementType::f16:
    case ElementType::bf16:
      return 2;
    case ElementType::s32:
    case ElementType::u32:
    case ElementType::f32:
      return 4;
    case ElementType::s64:
    case ElementType::u64:
    case ElementType::f64:
      return 8;
  }
  refuse("an element type that the stand-in does not know");
}

std::size_t size_of(const Buffer& buffer) {
  std::int64_t size = bytes_of(buffer.type);
  for (const std::int64_t dim : buffer.dims) size *= dim;
  return static_cast<std::size_t>(size);
}

void check_there(const Buffer& buffer) {
  if (buffer.deleted) refuse("Buffer has been deleted or donated.");
}

void run(ClientBufferFromHostBuffer& a) {
  if (a.device->description.process != a.client->process) refuse("a device of another process");
  auto buffer = std::make_unique<Buffer>(Buffer{.session = a.client->session,
                                                .number = Session::next_number(),
                                                .type = a.type,
                                                .dims = {a.dims, a.dims + a.num_dims}});
  Packer out;
  out.add(buffer->number).add(std::int32_t{a.device->description.id}).add(a.type);
  out.list(buffer->dims).text({static_cast<const char*>(a.data), size_of(*buffer)});
  a.client->session->call(Op::put, out.take());
  a.buffer = buffer.release();
  a.done_with_host_buffer = new Event;
}
void run(BufferDestroy& a) {
  a.buffer->session->tell(Op::drop_value,
                          Packer().list(std::vector<std::uint64_t>{a.buffer->number}).take());
  delete a.buffer;
}
void run(BufferElementType& a) { a.type = a.buffer->type; }
void run(BufferDimensions& a) {
  a.dims = a.buffer->dims.data();
  a.num_dims = a.buffer->dims.size();
}
void run(BufferIsDeleted& a) { a.is_deleted = a.buffer->deleted; }
void run(BufferReadyEvent& a) {
  check_there(*a.buffer);
  a.event = new Event{.session = a.buffer->session, .promise = a.buffer->number};
}
// The copy starts now, before any program that is launched later.
void run(BufferToHostBuffer& a) {
  check_there(*a.src);
  if (a.dst_size != size_of(*a.src)) refuse("a copy of the wrong size");
  const std::uint64_t copy = Session::next_number();
  a.src->session->call(Op::copy, Packer().add(copy).add(a.src->number).take());
  a.event = new Event{.session = a.src->session, .copy = copy, .to = a.dst, .size = a.dst_size};
}

// ---- programs ----

LoadedExecutable* loaded(Client& client, const std::string& answer) {
  return new LoadedExecutable{std::make_shared<const Loaded>(client, answer)};
}

void run(ClientCompile& a) {
  const std::string answer =
      a.client->session->call(Op::compile, Packer()
                                               .text({a.program->code, a.program->code_size})
                                               .text({a.compile_options, a.compile_options_size})
                                               .take());
  a.executable = loaded(*a.client, answer);
}
void run(ExecutableDeserializeAndLoad& a) {
  const std::string answer = a.client->session->call(
      Op::load, Packer().text({a.serialized_executable, a.serialized_executable_size}).take());
  a.loaded_executable = loaded(*a.client, answer);
}
void run(LoadedExecutableDestroy& a) { delete a.executable; }
void run(LoadedExecutableGetExecutable& a) {
  a.executable = new Executable{.loaded = a.loaded_executable->loaded};
}
void run(LoadedExecutableAddressableDevices& a) {
  const Loaded& loaded = *a.executable->loaded;
  a.addressable_devices = loaded.devices.data();
  a.num_addressable_devices = loaded.devices.size();
}
void run(ExecutableDestroy& a) { delete a.executable; }
void run(ExecutableNumOutputs& a) {
  a.num_outputs = a.executable->loaded->facts.result_types.size();
}
void run(ExecutableGetCostAnalysis& a) {
  Executable& executable = *a.executable;
  const std::string answer = executable.loaded->ask(Op::cost);
  Unpacker in(answer);
  const auto count = in.take<std::uint64_t>();
  executable.names.resize(count);
  executable.cost.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    executable.names[i] = in.text();
    NamedValue& value = executable.cost[i];
    value.name = executable.names[i].data();
    value.name_size = executable.names[i].size();
    value.type = ValueType::real;
    value.float_value = in.take<float>();
  }
  a.properties = executable.cost.data();
  a.num_properties = count;
}
void run(ExecutableOptimizedProgram& a) {
  Executable& executable = *a.executable;
  if (executable.optimized.empty()) executable.optimized = executable.loaded->ask(Op::optimized);
  if (a.program->code != nullptr)
    std::ranges::copy(executable.optimized, const_cast<char*>(a.program->code));
  a.program->code_size = executable.optimized.size();
}
void run(ExecutableSerialize& a) {
  auto* out = new SerializedExecutable{a.executable->loaded->ask(Op::serialize)};
  a.serialized_bytes = out->bytes.data();
  a.serialized_bytes_size = out->bytes.size();
  a.serialized_executable = out;
  a.serialized_executable_deleter = [](SerializedExecutable* s) { delete s; };
}
void run(ExecutableGetCompiledMemoryStats& a) {
  const std::string answer = a.executable->loaded->ask(Op::memory);
  Unpacker in(answer);
  for (std::int64_t* figure :
       {&a.generated_code_size_in_bytes, &a.argument_size_in_bytes, &a.output_size_in_bytes,
        &a.alias_size_in_bytes, &a.temp_size_in_bytes, &a.peak_memory_in_bytes})
    *figure = in.take<std::int64_t>();
}

// Drops the promise of a launch's end once no event refers to it.
struct Dropped {
  Dropped(std::shared_ptr<const Session> session, std::uint64_t promise)
      : session(std::move(session)), promise(promise) {}
  ~Dropped() {
    session->tell(Op::drop_value, Packer().list(std::vector<std::uint64_t>{promise}).take());
  }
  std::shared_ptr<const Session> session;
  std::uint64_t promise;
};

Buffer* promised(const Loaded& loaded, std::size_t result) {
  return new Buffer{.session = loaded.session,
                    .number = Session::next_number(),
                    .type = static_cast<ElementType>(loaded.facts.result_types[result]),
                    .dims = loaded.facts.result_dims[result]};
}

void run(LoadedExecutableExecute& a) {
  const Loaded& loaded = *a.executable->loaded;
  if (a.num_devices != loaded.devices.size())
    refuse("Attempted to execute with " + std::to_string(a.num_devices) +
           " argument lists when local device count is " + std::to_string(loaded.devices.size()));
  for (std::size_t list = 0; list < a.num_devices; ++list)
    for (std::size_t i = 0; i < a.num_args; ++i) check_there(*a.argument_lists[list][i]);
  const std::uint64_t done = Session::next_number();
  Packer out;
  out.add(loaded.facts.number).add(std::int32_t{a.options->launch_id}).add(done);
  out.add(std::uint64_t{a.num_devices});
  for (std::size_t list = 0; list < a.num_devices; ++list) {
    std::vector<std::uint64_t> arguments, results;
    for (std::size_t i = 0; i < a.num_args; ++i)
      arguments.push_back(a.argument_lists[list][i]->number);
    for (std::size_t i = 0; i < loaded.facts.result_types.size(); ++i)
      results.push_back((a.output_lists[list][i] = promised(loaded, i))->number);
    out.add(std::int32_t{loaded.devices[list]->description.id}).list(arguments).list(results);
  }
  loaded.session->call(Op::execute, out.take());
  const auto kept = std::make_shared<const Dropped>(loaded.session, done);
  for (std::size_t list = 0; list < a.num_devices; ++list) {
    for (const std::int32_t donated : loaded.facts.donated)
      a.argument_lists[list][donated]->deleted = true;
    if (a.device_complete_events != nullptr)
      a.device_complete_events[list] =
          new Event{.session = loaded.session, .promise = done, .kept = kept};
  }
}

// ---- the table ----

template <class Args>
Error* call(Args* args) try {
  run(*args);
  return nullptr;
} catch (const Fault& fault) {
  return new Error{fault};
} catch (const std::exception& error) {
  return new Error{{ErrorCode::unknown, error.what()}};
}

// The two functions that cannot return an error.
void destroy_error(ErrorDestroy* args) { delete args->error; }
void message_of_error(ErrorMessage* args) {
  args->message = args->error->fault.text.data();
  args->message_size = args->error->fault.text.size();
}

template <class... Args>
void fill(Api& api) {
  ((api.functions[Args::kFunction.index] = reinterpret_cast<void (*)()>(&call<Args>)), ...);
}

Api make_api() {
  Api api;
  api.struct_size = sizeof(Api);
  api.version.struct_size = sizeof(Version);
  api.version.minor_version = 81;
  api.functions[ErrorDestroy::kFunction.index] = reinterpret_cast<void (*)()>(&destroy_error);
  api.functions[ErrorMessage::kFunction.index] = reinterpret_cast<void (*)()>(&message_of_error);
  fill<PluginInitialize, ErrorGetCode, EventDestroy, EventIsReady, EventAwait, ClientCreate,
       ClientDestroy, ClientPlatformName, ClientPlatformVersion, ClientProcessIndex, ClientDevices,
       ClientAddressableDevices, DeviceGetDescription, DeviceDescriptionId,
       DeviceDescriptionProcessIndex, DeviceDescriptionAttributes, DeviceDescriptionKind,
       ClientBufferFromHostBuffer, BufferDestroy, BufferElementType, BufferDimensions,
       BufferIsDeleted, BufferReadyEvent, BufferToHostBuffer, ClientCompile,
       ExecutableDeserializeAndLoad, LoadedExecutableDestroy, LoadedExecutableGetExecutable,
       LoadedExecutableAddressableDevices, ExecutableDestroy, ExecutableNumOutputs,
       ExecutableGetCostAnalysis, ExecutableOptimizedProgram, ExecutableSerialize,
       ExecutableGetCompiledMemoryStats, LoadedExecutableExecute>(api);
  return api;
}

}  // namespace
}  // namespace smelt::pjrt_abi

extern "C" smelt::pjrt_abi::Api* GetPjrtApi() {
  static smelt::pjrt_abi::Api api = smelt::pjrt_abi::make_api();
  return &api;
}
