#include "runtime/client.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "base/words.h"
#include "runtime/buffer.h"
#include "runtime/executable.h"
#include "runtime/hardware.h"
#include "runtime/host_memory.h"
#include "runtime/pjrt_abi_compile.h"

namespace smelt {
namespace {

// Points into `option`.
pjrt::NamedValue named_value(const PluginOption& option) {
  pjrt::NamedValue out{};
  out.struct_size = pjrt::struct_size<pjrt::NamedValue>();
  out.name = option.first.data();
  out.name_size = option.first.size();
  out.value_size = 1;
  if (const auto* integer = std::get_if<std::int64_t>(&option.second)) {
    out.type = pjrt::ValueType::int64;
    out.int64_value = *integer;
  } else if (const auto* boolean = std::get_if<bool>(&option.second)) {
    out.type = pjrt::ValueType::boolean;
    out.bool_value = *boolean;
  } else if (const auto* real = std::get_if<float>(&option.second)) {
    out.type = pjrt::ValueType::real;
    out.float_value = *real;
  } else {
    const auto& text = std::get<std::string>(option.second);
    out.type = pjrt::ValueType::text;
    out.string_value = text.data();
    out.value_size = text.size();
  }
  return out;
}

}  // namespace

std::shared_ptr<const Client> Client::create(std::shared_ptr<const Plugin> plugin,
                                             const std::vector<PluginOption>& options) {
  std::vector<pjrt::NamedValue> values;
  for (const PluginOption& option : options) values.push_back(named_value(option));
  pjrt::ClientCreate args{};
  args.create_options = values.data();
  args.num_options = values.size();
  pjrt::Client* raw = plugin->call(args).client;
  return std::make_shared<const Client>(Handle<pjrt::ClientDestroy>(std::move(plugin), raw));
}

Client::Client(Handle<pjrt::ClientDestroy> handle) : handle_(std::move(handle)) {
  pjrt::ClientAddressableDevices args{};
  args.client = raw();
  args = plugin()->call(args);
  devices_.assign(args.addressable_devices,
                  args.addressable_devices + args.num_addressable_devices);
}

std::string Client::platform_name() const {
  pjrt::ClientPlatformName args{};
  args.client = raw();
  args = plugin()->call(args);
  return {args.platform_name, args.platform_name_size};
}

std::string Client::platform_version() const {
  pjrt::ClientPlatformVersion args{};
  args.client = raw();
  args = plugin()->call(args);
  return {args.platform_version, args.platform_version_size};
}

pjrt::Device* Client::device(int index) const {
  CHECK(index >= 0 && index < device_count(), "device ", index, " of ", device_count());
  return devices_[static_cast<std::size_t>(index)];
}

std::string Client::device_kind(int device) const {
  pjrt::DeviceGetDescription description{};
  description.device = this->device(device);
  pjrt::DeviceDescriptionKind kind{};
  kind.device_description = plugin()->call(description).device_description;
  kind = plugin()->call(kind);
  return {kind.device_kind, kind.device_kind_size};
}

std::optional<MemoryStats> Client::memory_stats(int device) const {
  pjrt::DeviceMemoryStats args{};
  args.device = this->device(device);
  if (!plugin()->has(pjrt::DeviceMemoryStats::kFunction)) return std::nullopt;
  try {
    args = plugin()->call(args);
  } catch (const PjrtError& error) {
    if (error.code() == pjrt::ErrorCode::unimplemented) return std::nullopt;
    throw;
  }
  MemoryStats out{.in_use_bytes = args.bytes_in_use, .peak_bytes = {}, .limit_bytes = {}};
  if (args.peak_bytes_in_use_is_set) out.peak_bytes = args.peak_bytes_in_use;
  if (args.bytes_limit_is_set) out.limit_bytes = args.bytes_limit;
  return out;
}

Buffer Client::to_device(std::span<const std::byte> bytes, const Shape& shape, int device) const {
  CHECK(bytes.size() == shape.size_bytes(), bytes.size(), " bytes for ", shape);
  pjrt::ClientBufferFromHostBuffer args{};
  args.client = raw();
  args.data = bytes.data();
  args.type = element_type(shape.dtype);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.host_buffer_semantics = pjrt::HostBufferSemantics::only_during_call;
  args.device = this->device(device);
  args = plugin()->call(args);
  Buffer buffer(shared_from_this(), args.buffer);
  Event(plugin(), args.done_with_host_buffer).await();
  return buffer;
}

Executable Client::compile(std::string_view stablehlo, const CompileOptions& options) const {
  const pjrt::Program program = stablehlo_program(stablehlo);
  const std::string serialized = serialize(with_platform_overrides(options, platform_name()));
  pjrt::ClientCompile args{};
  args.client = raw();
  args.program = &program;
  args.compile_options = serialized.data();
  args.compile_options_size = serialized.size();
  return loaded(plugin()->call(args).executable);
}

Executable Client::load(std::string_view serialized) const {
  pjrt::ExecutableDeserializeAndLoad args{};
  args.client = raw();
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  return loaded(plugin()->call(args).loaded_executable);
}

Executable Client::loaded(pjrt::LoadedExecutable* raw) const {
  return Executable(shared_from_this(), Handle<pjrt::LoadedExecutableDestroy>(plugin(), raw));
}

namespace {

// The CPU plugin runs every device's part of a program on one pool of threads, one a core unless
// the environment says NPROC. A collective waits for a thread of each device, and steps in flight
// wait side by side: with fewer threads its own all-reduce was seen to wait until it gave up.
void give_cpu_threads(int devices) {
  if (devices <= 1) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const char* said = std::getenv("NPROC");
  const int wanted = available_threads() + 2 * devices;
  if (said == nullptr || std::atoi(said) < wanted) ::setenv("NPROC", str(wanted).c_str(), 1);
}

std::mutex clients_mutex;
// By device and, of the CPU, which any number can be made of, how many. Null: none is kept.
std::map<std::string, std::shared_ptr<const Client>>* kept_clients = nullptr;

std::shared_ptr<const Client> new_client(std::string_view device, int device_count) {
  std::vector<PluginOption> options;
  if (device == "cpu") {
    keep_freed_memory();  // first: the plugin's threads would have heaps of their own
    give_cpu_threads(device_count);
    // Left alone, the CPU plugin makes four devices.
    options = {{"cpu_device_count", std::int64_t{std::max(device_count, 1)}}};
  }
  return Client::create(Plugin::load(ready_plugin(device)), options);
}

std::shared_ptr<const Client> kept_client(std::string_view device, int device_count) {
  const std::lock_guard lock(clients_mutex);
  if (kept_clients == nullptr) return new_client(device, device_count);
  auto& kept = (*kept_clients)[device == "cpu" ? str(device, std::max(device_count, 1))
                                               : std::string(device)];
  if (!kept) kept = new_client(device, device_count);
  return kept;
}

}  // namespace

KeptClients::KeptClients() {
  const std::lock_guard lock(clients_mutex);
  CHECK(kept_clients == nullptr);
  kept_clients = new std::map<std::string, std::shared_ptr<const Client>>;
}

KeptClients::~KeptClients() {
  const std::lock_guard lock(clients_mutex);
  delete std::exchange(kept_clients, nullptr);
}

std::shared_ptr<const Client> open_device(std::string_view device, int device_count) {
  auto client = kept_client(device, device_count);
  if (client->device_count() < device_count) {
    const int found = client->device_count();
    throw UsageError(str("device ", device, ": ", counted(device_count, "device"), " wanted, ",
                         found, found == 1 ? " is here" : " are here"),
                     "ask for fewer devices");
  }
  return client;
}

}  // namespace smelt
