// The devices of this process behind one plugin: puts data on them and compiles for them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/shape.h"
#include "runtime/compile_options.h"
#include "runtime/handle.h"
#include "runtime/pjrt_abi.h"

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

// Thread-safe. Buffers and executables keep their client alive, a client its plugin.
class Client : public std::enable_shared_from_this<Client> {
 public:
  // PjrtError when the plugin finds no device or refuses an option.
  static std::shared_ptr<const Client> create(std::shared_ptr<const Plugin> plugin,
                                              const std::vector<PluginOption>& options = {});

  explicit Client(Handle<pjrt::ClientDestroy> handle);  // use create()

  const std::shared_ptr<const Plugin>& plugin() const { return handle_.shared_plugin(); }
  std::string platform_name() const;  // "cpu", "cuda", "tpu"
  std::string platform_version() const;
  // Devices that this process reaches; they are numbered from 0 here.
  int device_count() const { return static_cast<int>(devices_.size()); }
  std::string device_kind(int device = 0) const;                  // "TPU v5 lite"
  std::optional<MemoryStats> memory_stats(int device = 0) const;  // nullopt: not known

  // Copies row-major values to a device; `bytes` may go when the call returns. BugError when their
  // size is not the shape's.
  Buffer to_device(std::span<const std::byte> bytes, const Shape& shape, int device = 0) const;

  // `stablehlo`: text of a module; options.overrides come after the platform's. PjrtError
  // with the compiler's text.
  Executable compile(std::string_view stablehlo, const CompileOptions& options = {}) const;
  // What CompiledProgram::serialize() gave on the same kind of device with the same plugin.
  Executable load(std::string_view serialized) const;

  pjrt::Client* raw() const { return handle_.raw(); }

 private:
  pjrt::Device* device(int index) const;
  Executable loaded(pjrt::LoadedExecutable* raw) const;

  Handle<pjrt::ClientDestroy> handle_;
  std::vector<pjrt::Device*> devices_;  // owned by the plugin's client
};

// The client of a kind of device (cpu, gpu, tpu) by its found plugin, which ready_plugin() checks
// the machine for. The CPU is split into
// `device_count` devices; of other kinds UsageError when fewer are there. 0: as many as there are,
// one CPU.
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
