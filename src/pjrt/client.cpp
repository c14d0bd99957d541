#include "pjrt/client.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/parallel.h"
#include "base/plural.h"
#include "io/formats/crc32c.h"
#include "pjrt/buffer.h"
#include "pjrt/executable.h"
#include "pjrt/hardware.h"
#include "pjrt/host_memory.h"
#include "pjrt/pjrt_abi_compile.h"
#include "pjrt/pjrt_abi_processes.h"

namespace smelt::pjrt {
namespace {

// The result points into `option`.
pjrt_abi::NamedValue named_value(const PluginOption& option) {
  pjrt_abi::NamedValue out{};
  out.struct_size = pjrt_abi::struct_size<pjrt_abi::NamedValue>();
  out.name = option.first.data();
  out.name_size = option.first.size();
  out.value_size = 1;
  if (const auto* integer = std::get_if<std::int64_t>(&option.second)) {
    out.type = pjrt_abi::ValueType::int64;
    out.int64_value = *integer;
  } else if (const auto* boolean = std::get_if<bool>(&option.second)) {
    out.type = pjrt_abi::ValueType::boolean;
    out.bool_value = *boolean;
  } else if (const auto* real = std::get_if<float>(&option.second)) {
    out.type = pjrt_abi::ValueType::real;
    out.float_value = *real;
  } else {
    const auto& text = std::get<std::string>(option.second);
    out.type = pjrt_abi::ValueType::text;
    out.string_value = text.data();
    out.value_size = text.size();
  }
  return out;
}

}  // namespace

std::shared_ptr<const Client> Client::create(std::shared_ptr<const Plugin> plugin,
                                             const std::vector<PluginOption>& options,
                                             std::shared_ptr<const KeyValueStore> store) {
  std::vector<pjrt_abi::NamedValue> values;
  for (const PluginOption& option : options) values.push_back(named_value(option));
  pjrt_abi::ClientCreate args{};
  args.create_options = values.data();
  args.num_options = values.size();
  if (store) set_store_callbacks(*store, args);
  pjrt_abi::Client* raw = plugin->call(args).client;
  return std::make_shared<const Client>(Handle<pjrt_abi::ClientDestroy>(std::move(plugin), raw),
                                        std::move(store));
}

Client::Client(Handle<pjrt_abi::ClientDestroy> handle, std::shared_ptr<const KeyValueStore> store)
    : store_(std::move(store)), handle_(std::move(handle)) {
  pjrt_abi::ClientProcessIndex index{};
  index.client = raw();
  process_ = plugin()->call(index).process_index;
  pjrt_abi::ClientDevices all{};
  all.client = raw();
  all = plugin()->call(all);
  for (std::size_t i = 0; i < all.num_devices; ++i) add_device(all.devices[i]);
  std::ranges::sort(devices_, {}, [](const Known& device) { return device.facts.order(); });
  pjrt_abi::ClientAddressableDevices own{};
  own.client = raw();
  own = plugin()->call(own);
  for (std::size_t i = 0; i < own.num_addressable_devices; ++i)
    own_.push_back(device_of(own.addressable_devices[i]));
  std::ranges::sort(own_);
  one_at_a_time_ = platform_name() == "cpu";
}

void Client::await_latest() const {
  if (!one_at_a_time_) return;
  Events latest;
  {
    const std::lock_guard lock(latest_mutex_);
    latest = latest_;
  }
  if (latest) {
    try {
      for (const Event& event : *latest) event.await();
    } catch (const PjrtError&) {  // reported to the caller that awaits that execution
    }
  }
  temporaries_.await_freed();
}

void Client::note_latest(Events done) const {
  if (!one_at_a_time_) return;
  const std::lock_guard lock(latest_mutex_);
  latest_ = std::move(done);
}

void Client::add_device(pjrt_abi::Device* raw) {
  pjrt_abi::DeviceGetDescription of_device{};
  of_device.device = raw;
  devices_.push_back({raw, facts_of(*plugin(), plugin()->call(of_device).device_description)});
}

int Client::process_count() const {
  std::set<int> processes;
  for (const Known& device : devices_) processes.insert(device.facts.process);
  return static_cast<int>(processes.size());
}

int Client::device_of(const pjrt_abi::Device* raw) const {
  const auto found = std::ranges::find(devices_, raw, &Known::raw);
  CHECK(found != devices_.end(), "the device does not belong to this client");
  return static_cast<int>(found - devices_.begin());
}

std::vector<OwnDevice> Client::own_devices(std::int64_t devices) const {
  if (devices == 1) return {{.place = 0, .device = own_.at(0)}};
  std::vector<OwnDevice> out;
  for (const int device : own_)
    if (device < devices) out.push_back({.place = device, .device = device});
  return out;
}

std::string Client::platform_name() const {
  pjrt_abi::ClientPlatformName args{};
  args.client = raw();
  args = plugin()->call(args);
  return {args.platform_name, args.platform_name_size};
}

std::string Client::platform_version() const {
  pjrt_abi::ClientPlatformVersion args{};
  args.client = raw();
  args = plugin()->call(args);
  return {args.platform_version, args.platform_version_size};
}

const Client::Known& Client::known(int device) const {
  CHECK(device >= 0 && device < device_count(), "device ", device, " of ", device_count());
  return devices_[static_cast<std::size_t>(device)];
}

pjrt_abi::Device* Client::own(int device) const {
  if (device == kFirstOwn) return known(own_.at(0)).raw;
  const Known& found = known(device);
  CHECK(std::ranges::binary_search(own_, device), "device ", device, " belongs to process ",
        found.facts.process, ", this is process ", process_);
  return found.raw;
}

std::string Client::device_kind(int device) const {
  pjrt_abi::DeviceGetDescription description{};
  description.device = known(device).raw;
  pjrt_abi::DeviceDescriptionKind kind{};
  kind.device_description = plugin()->call(description).device_description;
  kind = plugin()->call(kind);
  return {kind.device_kind, kind.device_kind_size};
}

std::optional<MemoryStats> Client::memory_stats(int device) const {
  pjrt_abi::DeviceMemoryStats args{};
  args.device = own(device);
  if (!plugin()->has(pjrt_abi::DeviceMemoryStats::kFunction)) return std::nullopt;
  try {
    args = plugin()->call(args);
  } catch (const PjrtError& error) {
    if (error.code() == pjrt_abi::ErrorCode::unimplemented) return std::nullopt;
    throw;
  }
  MemoryStats out{.in_use_bytes = args.bytes_in_use, .peak_bytes = {}, .limit_bytes = {}};
  if (args.peak_bytes_in_use_is_set) out.peak_bytes = args.peak_bytes_in_use;
  if (args.bytes_limit_is_set) out.limit_bytes = args.bytes_limit;
  return out;
}

Buffer Client::to_device(std::span<const std::byte> bytes, const compiler::Shape& shape,
                         int device) const {
  CHECK(bytes.size() == shape.size_bytes(), bytes.size(), " bytes for ", shape);
  pjrt_abi::ClientBufferFromHostBuffer args{};
  args.client = raw();
  args.data = bytes.data();
  args.type = element_type(shape.dtype);
  args.dims = shape.dims.data();
  args.num_dims = shape.dims.size();
  args.host_buffer_semantics = pjrt_abi::HostBufferSemantics::only_during_call;
  args.device = own(device);
  args = plugin()->call(args);
  Buffer buffer(shared_from_this(), args.buffer);
  Event(plugin(), args.done_with_host_buffer).await();
  return buffer;
}

std::string Client::serialized(const CompileOptions& options) const {
  CompileOptions full = with_platform_overrides(options, platform_name());
  const int devices = options.num_replicas * options.num_partitions;
  for (int place = 0; place < std::min(devices, device_count()); ++place)
    full.device_ids.push_back(id_of(devices == 1 ? own_.at(0) : place));
  return serialize(full);
}

std::uint32_t Client::first_launch(std::string_view stablehlo,
                                   const CompileOptions& options) const {
  return io::crc32c(stablehlo, io::crc32c(serialized(options)));
}

Executable Client::compile(std::string_view stablehlo, const CompileOptions& options) const {
  const pjrt_abi::Program program = stablehlo_program(stablehlo);
  const std::string text = serialized(options);
  pjrt_abi::ClientCompile args{};
  args.client = raw();
  args.program = &program;
  args.compile_options = text.data();
  args.compile_options_size = text.size();
  return loaded(plugin()->call(args).executable, first_launch(stablehlo, options));
}

Executable Client::load(std::string_view serialized, std::uint32_t launch) const {
  pjrt_abi::ExecutableDeserializeAndLoad args{};
  args.client = raw();
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  return loaded(plugin()->call(args).loaded_executable, launch);
}

Executable Client::loaded(pjrt_abi::LoadedExecutable* raw, std::uint32_t launch) const {
  // return the memory used for compiling or deserializing
  if (one_at_a_time_) release_freed_memory();
  return Executable(shared_from_this(), Handle<pjrt_abi::LoadedExecutableDestroy>(plugin(), raw),
                    launch);
}

namespace {

// Raises NPROC, the size of the CPU plugin's thread pool, to the number of cores plus two per
// device. All devices share the pool, which has one thread per core by default. A collective blocks
// one thread per device, and several steps may be in flight: with too few threads an all-reduce can
// deadlock until it times out.
void set_cpu_threads(int devices) {
  if (devices <= 1) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const char* nproc = std::getenv("NPROC");
  const int wanted = available_threads() + 2 * devices;
  if (nproc == nullptr || std::atoi(nproc) < wanted) ::setenv("NPROC", str(wanted).c_str(), 1);
}

std::mutex clients_mutex;
// The clients that ClientCache keeps open, by device name; for the CPU the name includes the number
// of devices. Null if there is no ClientCache.
std::map<std::string, std::shared_ptr<const Client>>* kept_clients = nullptr;

Processes joined;

std::shared_ptr<const Client> new_client(std::string_view device, int device_count) {
  std::vector<PluginOption> options;
  if (device == "cpu") {
    constexpr int kMaxCpuDevices = 256;  // with more, collectives may starve
    if (device_count > kMaxCpuDevices)
      throw UsageError(
          str("device cpu: ", device_count, " devices requested, the maximum is ", kMaxCpuDevices),
          "request at most as many devices as the machine has cores");
    keep_freed_memory();  // must be called before the plugin starts its threads
    set_cpu_threads(device_count);
    // By default the CPU plugin creates four devices.
    options = {{"cpu_device_count", std::int64_t{std::max(device_count, 1)}}};
  } else if (device == "gpu" && joined.count > 1) {
    options = {{"node_id", std::int64_t{joined.index}}, {"num_nodes", std::int64_t{joined.count}}};
  } else if (device == "tpu" && joined.count > 1) {
    enable_launch_barrier();
  }
  return Client::create(Plugin::load(ready_plugin(device)), options,
                        device == "tpu" ? nullptr : joined.store);
}

std::shared_ptr<const Client> kept_client(std::string_view device, int device_count) {
  const std::lock_guard lock(clients_mutex);
  if (kept_clients == nullptr) return new_client(device, device_count);
  // Reuse a multi-process client for any number of devices: a new one would have to be created by
  // all processes at the same time.
  for (const auto& [name, client] : *kept_clients)
    if (client && name.starts_with(device) && client->process_count() > 1) return client;
  auto& kept = (*kept_clients)[device == "cpu" ? str(device, std::max(device_count, 1))
                                               : std::string(device)];
  if (!kept) kept = new_client(device, device_count);
  return kept;
}

void require_all_devices(const Client& client, std::string_view device, int device_count) {
  const int all = client.device_count();
  if (client.process_count() == 1 || device_count <= 1 || device_count == all) return;
  throw UsageError(
      str("device ", device, ": ", counted(device_count, "device"), " requested, but a run over ",
          client.process_count(), " processes must use all ", all),
      str("request ", all, " devices"));
}

}  // namespace

void join_processes(Processes processes) {
  const std::lock_guard lock(clients_mutex);
  joined = std::move(processes);
}

ClientCache::ClientCache() {
  const std::lock_guard lock(clients_mutex);
  CHECK(kept_clients == nullptr);
  kept_clients = new std::map<std::string, std::shared_ptr<const Client>>;
}

ClientCache::~ClientCache() {
  const std::lock_guard lock(clients_mutex);
  delete std::exchange(kept_clients, nullptr);
}

std::shared_ptr<const Client> open_device(std::string_view device, int device_count) {
  auto client = kept_client(device, device_count);
  if (client->device_count() < device_count) {
    const int found = client->device_count();
    throw UsageError(str("device ", device, ": ", counted(device_count, "device"), " requested, ",
                         found, " available"),
                     "request fewer devices");
  }
  require_all_devices(*client, device, device_count);
  return client;
}

}  // namespace smelt::pjrt
