// The devices behind one plugin, of this process and of those that train with it: puts data on its
// own and compiles for all.
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
#include "pjrt/event.h"
#include "pjrt/handle.h"
#include "pjrt/host_memory.h"
#include "pjrt/key_value_store.h"
#include "pjrt/pjrt_abi.h"

namespace smelt {

class Buffer;
class Executable;

// An option by the plugin's own name for it, e.g. {"cpu_device_count", 8}.
using PluginOption = std::pair<std::string, std::variant<std::int64_t, bool, float, std::string>>;

struct MemoryStats {
  std::int64_t in_use_bytes = 0;
  std::optional<std::int64_t> peak_bytes;
  std::optional<std::int64_t> limit_bytes;
};

// A device that this process reaches, among those of a program over several.
struct OwnDevice {
  int place = 0;   // which replica or partition of the program it is, from 0
  int device = 0;  // the client's number for it
};

// Devices are numbered from 0 in an order that all processes agree on: by slice, process and id.
// What a device is called by its plugin is its id; those of a process need not follow one another.
//
// Thread-safe. Buffers and executables keep their client alive, a client its plugin.
class Client : public std::enable_shared_from_this<Client> {
 public:
  static constexpr int kFirstOwn = -1;  // the first of this process's devices

  // PjrtError when the plugin finds no device or refuses an option. The store is shared with the
  // other processes; a plugin that finds them by itself asks for none.
  static std::shared_ptr<const Client> create(std::shared_ptr<const Plugin> plugin,
                                              const std::vector<PluginOption>& options = {},
                                              std::shared_ptr<const KeyValueStore> store = nullptr);

  Client(Handle<pjrt::ClientDestroy> handle,
         std::shared_ptr<const KeyValueStore> store);  // use create()

  const std::shared_ptr<const Plugin>& plugin() const { return handle_.shared_plugin(); }
  std::string platform_name() const;  // "cpu", "cuda", "tpu"
  std::string platform_version() const;
  int device_count() const { return static_cast<int>(devices_.size()); }  // of all processes
  // Which of the processes this one is to the plugin: neither the number by which it was started
  // nor that of its first device.
  int process_index() const { return process_; }
  int process_count() const;
  int process_of(int device) const { return known(device).facts.process; }
  int id_of(int device) const { return known(device).facts.id; }
  // Those that this process reaches, ascending.
  const std::vector<int>& own_devices() const { return own_; }
  // Likewise of a program over `devices`: over all of the first ones, or, over one device, over
  // this process's first, for itself.
  std::vector<OwnDevice> own_devices(std::int64_t devices) const;
  std::string device_kind(int device = 0) const;                          // "TPU v5 lite"
  std::optional<MemoryStats> memory_stats(int device = kFirstOwn) const;  // nullopt: not known

  // Copies row-major values to one of this process's devices; `bytes` may go when the call returns.
  // BugError when their size is not the shape's.
  Buffer to_device(std::span<const std::byte> bytes, const Shape& shape,
                   int device = kFirstOwn) const;

  // `stablehlo`: text of a module; options.overrides come after the platform's. PjrtError
  // with the compiler's text.
  Executable compile(std::string_view stablehlo, const CompileOptions& options = {}) const;
  // What CompiledProgram::serialize() gave on the same kind of device with the same plugin.
  // `launch` is first_launch() of what it was made of: what is serialized may differ between
  // processes.
  Executable load(std::string_view serialized, std::uint32_t launch = 1) const;
  // CompileOptionsProto, with what the platform needs and the devices that are meant.
  std::string serialized(const CompileOptions& options) const;
  // Where the numbers of a program's launches begin: the same in every process.
  std::uint32_t first_launch(std::string_view stablehlo, const CompileOptions& options) const;

  // The number of a device of the plugin's.
  int device_of(const pjrt::Device* raw) const;
  pjrt::Client* raw() const { return handle_.raw(); }

  // Of Executable::execute(): on a CPU, until what was started last has ended, well or not.
  void await_latest() const;
  void note_latest(Events done) const;

 private:
  struct Known {
    pjrt::Device* raw = nullptr;  // owned by the plugin's client
    DeviceFacts facts;
  };
  void add_device(pjrt::Device* raw);
  const Known& known(int device) const;
  pjrt::Device* own(int device) const;
  Executable loaded(pjrt::LoadedExecutable* raw, std::uint32_t launch) const;

  std::shared_ptr<const KeyValueStore> store_;  // outlives the handle: members die in reverse order
  Handle<pjrt::ClientDestroy> handle_;
  int process_ = 0;
  std::vector<Known> devices_;
  std::vector<int> own_;
  bool one_at_a_time_ = false;
  mutable std::mutex latest_mutex_;
  mutable Events latest_;
  mutable TemporariesGuard temporaries_;
};

// The processes that train together, of which this is number `index`.
struct Processes {
  int index = 0, count = 1;
  std::shared_ptr<const KeyValueStore> store = nullptr;
};
// For what open_device() opens from now on. A TPU finds its processes by itself; CUDA is told.
void join_processes(Processes processes);

// The client of a kind of device (cpu, gpu, tpu) by its found plugin, which ready_plugin() checks
// the machine for. The CPU is split into
// `device_count` devices; of other kinds UsageError when fewer are there, and, where several
// processes have them, for another number than one or all. 0: as many as there are, one CPU.
// While a KeptClients lives it is the one that was opened before.
std::shared_ptr<const Client> open_device(std::string_view device, int device_count = 0);

// Keeps what open_device() opens: a process can open a TPU once, and the stages of a recipe, its
// checks and its evaluations follow one another. One at a time.
class KeptClients {
 public:
  KeptClients();
  ~KeptClients();
  KeptClients(const KeptClients&) = delete;
  KeptClients& operator=(const KeptClients&) = delete;
};

}  // namespace smelt
