// A program loaded on the devices of a client. If its devices belong to several processes, each
// process launches it on its devices, and all processes launch programs in the same order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "pjrt/buffer.h"
#include "pjrt/compiled_program.h"

namespace smelt::pjrt {

// A running execution. The destructor does not wait: the results keep the client and the plugin
// alive.
class Execution {
 public:
  Execution(std::vector<std::vector<Buffer>> results, Events done)
      : results(std::move(results)), done_(std::move(done)) {}

  std::vector<std::vector<Buffer>> results;  // [own device][result]

  // Waits until all devices of this process have finished. Throws PjrtError if one failed.
  void await() const;
  bool ended() const;  // whether await() would return at once

 private:
  Events done_;  // one per device
};

// A loaded program.
class Executable {
 public:
  // `launch` is Client::first_launch().
  Executable(std::shared_ptr<const Client> client, Handle<pjrt_abi::LoadedExecutableDestroy> handle,
             std::uint32_t launch);
  Executable(Executable&&) = default;
  // On a CPU, waits until the latest execution has ended and returns freed memory to the system if
  // it exceeds 64 MB.
  ~Executable();

  // Starts the program on its devices and returns without waiting for the results. On a CPU, first
  // waits for the previous execution, so that only one set of temporaries is in memory.
  // `arguments` is indexed [own device][argument] in the order of devices(). Donated arguments
  // (tf.aliasing_output) become deleted(), because their memory is reused for results; they may be
  // lost even if this throws. Other arguments stay valid, and the caller may destroy them at once:
  // the plugin keeps their memory until the execution ends. Throws PjrtError on wrong shapes or if
  // memory runs out.
  Execution execute(const std::vector<std::vector<const Buffer*>>& arguments) const;

  // Returns the numbers of the program's devices that belong to this process, ascending.
  const std::vector<int>& devices() const { return devices_; }
  std::size_t device_count() const { return devices_.size(); }
  std::size_t result_count() const { return result_count_; }  // per device
  const CompiledProgram& program() const { return program_; }
  const Client& client() const { return *client_; }

 private:
  // must outlive the handles: members are destroyed in reverse order
  std::shared_ptr<const Client> client_;
  Handle<pjrt_abi::LoadedExecutableDestroy> handle_;
  CompiledProgram program_;
  std::vector<std::size_t> lists_;  // by own device: index of its argument list in plugin calls
  std::vector<int> devices_;
  // Number of the next launch, the same in all processes, so that the runtime can detect mismatched
  // launches.
  std::unique_ptr<std::atomic<std::uint32_t>> launch_;
  std::size_t result_count_ = 0;
};

}  // namespace smelt::pjrt
