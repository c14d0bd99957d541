// A program loaded on the devices of a client, ready to run. Over devices of several processes each
// of them launches it, all in the same order, and gives and takes what is of its own devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "pjrt/buffer.h"
#include "pjrt/compiled_program.h"

namespace smelt {

// One run under way. Dropping it waits for nothing; the results keep what they need.
class Execution {
 public:
  Execution(std::vector<std::vector<Buffer>> results, Events done)
      : results(std::move(results)), done_(std::move(done)) {}

  std::vector<std::vector<Buffer>> results;  // [own device][result]

  // Until every own device has finished; PjrtError with the plugin's text if one failed.
  void await() const;
  bool ended() const;  // whether that would return at once

 private:
  Events done_;  // one per device
};

class Executable {
 public:
  // `launch`: Client::first_launch().
  Executable(std::shared_ptr<const Client> client, Handle<pjrt::LoadedExecutableDestroy> handle,
             std::uint32_t launch);
  Executable(Executable&&) = default;
  // On a CPU, waits until the latest execution has ended and returns freed memory to the system if
  // it is more than 64 MB.
  ~Executable();

  // Starts the program on its devices and returns at once, on a CPU once what was started before
  // has ended: its queue would hold the temporaries of both. `arguments` is [own device][argument],
  // in the order of devices(). The caller keeps the arguments, except those that the module donates
  // (tf.aliasing_output): their memory is in the results now and the Buffers are deleted().
  // Arguments that are not donated may be destroyed at once; the plugin holds them until it is
  // done. When this throws, donated arguments may be lost too. PjrtError: wrong shapes, no memory.
  Execution execute(const std::vector<std::vector<const Buffer*>>& arguments) const;

  // The program's devices that this process reaches, by the client's numbers, ascending.
  const std::vector<int>& devices() const { return devices_; }
  std::size_t device_count() const { return devices_.size(); }
  std::size_t result_count() const { return result_count_; }  // on each device
  const CompiledProgram& program() const { return program_; }
  const Client& client() const { return *client_; }

 private:
  std::shared_ptr<const Client> client_;  // outlives the handles: members die in reverse order
  Handle<pjrt::LoadedExecutableDestroy> handle_;
  CompiledProgram program_;
  std::vector<std::size_t> lists_;  // by own device: which of the plugin's lists is its
  std::vector<int> devices_;
  // Numbers a launch differently in no process, so that the runtime can tell unequal ones apart.
  std::unique_ptr<std::atomic<std::uint32_t>> launch_;
  std::size_t result_count_ = 0;
};

}  // namespace smelt
