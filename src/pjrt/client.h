// The devices of one plugin: those of this process and, in a multi-process run, of the other
// processes. A client copies data to its own devices and compiles programs for all.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/ir/shape.h"
#include "pjrt/compile_options.h"
#include "pjrt/device_facts.h"
#include "pjrt/handle.h"
#include "pjrt/host_memory.h"
#include "pjrt/key_value_store.h"
#include "pjrt/pjrt_abi.h"

namespace smelt::pjrt {

class Buffer;
class Executable;

// A plugin option by the plugin's name, for example {"cpu_device_count", 8}.
using PluginOption = std::pair<std::string, std::variant<std::int64_t, bool, float, std::string>>;

// Memory of one device.
struct MemoryStats {
  std::int64_t in_use_bytes = 0;
  std::optional<std::int64_t> peak_bytes;
  std::optional<std::int64_t> limit_bytes;
};

// A device of this process that takes part in a program over several devices.
struct OwnDevice {
  int place = 0;   // index of its replica or partition in the program
  int device = 0;  // index of the device in the client
};

// A PJRT client. Devices are numbered from 0 in an order on which all processes agree: by slice,
// process and the plugin's device id. The devices of one process need not be consecutive.
//
// Thread-safe. Buffers and executables keep their client alive, and a client its plugin.
class Client : public std::enable_shared_from_this<Client> {
 public:
  static constexpr int kFirstOwn = -1;  // the first device of this process

  // Creates a client. Throws PjrtError if the plugin finds no device or rejects an option. `store`
  // is shared with the other processes; null for plugins that find the other processes themselves.
  static std::shared_ptr<const Client> create(std::shared_ptr<const Plugin> plugin,
                                              const std::vector<PluginOption>& options = {},
                                              std::shared_ptr<const KeyValueStore> store = nullptr);

  Client(Handle<pjrt_abi::ClientDestroy> handle,
         std::shared_ptr<const KeyValueStore> store);  // use create()

  const std::shared_ptr<const Plugin>& plugin() const { return handle_.shared_plugin(); }
  std::string platform_name() const;  // "cpu", "cuda", "tpu"
  std::string platform_version() const;
  int device_count() const { return static_cast<int>(devices_.size()); }  // in all processes
  // Returns the plugin's index of this process. It may differ from the rank of the process and from
  // the number of its first device.
  int process_index() const { return process_; }
  int process_count() const;
  int process_of(int device) const { return known(device).facts.process; }
  int id_of(int device) const { return known(device).facts.id; }
  // Returns the numbers of the devices of this process, ascending.
  const std::vector<int>& own_devices() const { return own_; }
  // Returns the devices of this process that run a program over `devices` devices. A program over
  // several devices runs on the first ones of all processes; a program over one device runs on the
  // first device of this process.
  std::vector<OwnDevice> own_devices(std::int64_t devices) const;
  std::string device_kind(int device = 0) const;                          // "TPU v5 lite"
  std::optional<MemoryStats> memory_stats(int device = kFirstOwn) const;  // nullopt if unknown

  // Copies row-major values to a device of this process. `bytes` may be freed when the call
  // returns; their size must match the shape.
  Buffer to_device(std::span<const std::byte> bytes, const compiler::Shape& shape,
                   int device = kFirstOwn) const;

  // Compiles a StableHLO module, given as text. options.overrides are applied after the platform's.
  // Throws PjrtError with the compiler's message.
  Executable compile(std::string_view stablehlo, const CompileOptions& options = {}) const;
  // Loads a program from CompiledProgram::serialize(), made on the same kind of device with the
  // same plugin. `launch` is first_launch() of the original module, as the serialized bytes may
  // differ between processes.
  Executable load(std::string_view serialized, std::uint32_t launch = 1) const;
  // Returns a serialized CompileOptionsProto, with the platform's overrides and the devices filled
  // in.
  std::string serialized(const CompileOptions& options) const;
  // Returns the number of a program's first launch; each later launch counts up from it. It depends
  // only on module and options, so it is the same in all processes, and the runtime can detect
  // processes that launch different programs.
  std::uint32_t first_launch(std::string_view stablehlo, const CompileOptions& options) const;

  // Returns the number in this client of a device of the plugin.
  int device_of(const pjrt_abi::Device* raw) const;
  pjrt_abi::Client* raw() const { return handle_.raw(); }

  // Used by Executable::execute(). On a CPU, waits until the latest execution has ended,
  // successfully or not.
  void await_latest() const;
  void note_latest(Events done) const;

 private:
  struct Known {
    pjrt_abi::Device* raw = nullptr;  // owned by the plugin's client
    DeviceFacts facts;
  };
  void add_device(pjrt_abi::Device* raw);
  const Known& known(int device) const;
  pjrt_abi::Device* own(int device) const;
  Executable loaded(pjrt_abi::LoadedExecutable* raw, std::uint32_t launch) const;

  // must outlive handle_: members are destroyed in reverse order
  std::shared_ptr<const KeyValueStore> store_;
  Handle<pjrt_abi::ClientDestroy> handle_;
  int process_ = 0;
  std::vector<Known> devices_;
  std::vector<int> own_;
  bool one_at_a_time_ = false;
  mutable std::mutex latest_mutex_;
  mutable Events latest_;
  mutable TemporariesGuard temporaries_;
};

// The processes of a multi-process run; this process has rank `index`.
struct Processes {
  int index = 0, count = 1;
  std::shared_ptr<const KeyValueStore> store = nullptr;
};
// Sets the processes for clients that open_device() opens from now on. The TPU plugin finds its
// processes itself; the CUDA plugin gets them from here.
void join_processes(Processes processes);

// Opens a device ("cpu", "gpu" or "tpu") with the plugin from ready_plugin(). `device_count` is the
// number of devices that the caller needs; 0 means all TPUs or GPUs, or one CPU device. The CPU is
// split into that many devices. Throws UsageError if fewer devices are available. A run over
// several processes must request 0, 1 or all devices; otherwise throws UsageError. While a
// ClientCache object exists, an already open client is returned.
std::shared_ptr<const Client> open_device(std::string_view device, int device_count = 0);

// While it exists, open_device() keeps its clients open and returns them again. A process can open
// a TPU only once, but the stages, checks and evaluations of a recipe use it one after another.
// Only one object may exist at a time.
class ClientCache {
 public:
  ClientCache();
  ~ClientCache();
  ClientCache(const ClientCache&) = delete;
  ClientCache& operator=(const ClientCache&) = delete;
};

}  // namespace smelt::pjrt
