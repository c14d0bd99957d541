// A program loaded on the devices of a client, ready to run.
#pragma once

#include <memory>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/compiled_program.h"

namespace smelt {

// One run under way. Dropping it waits for nothing; the results keep what they need.
class Execution {
 public:
  Execution(std::vector<std::vector<Buffer>> results, std::vector<Event> done)
      : results(std::move(results)), done_(std::move(done)) {}

  std::vector<std::vector<Buffer>> results;  // [device][result]

  // Until every device has finished; PjrtError with the plugin's text if one failed.
  void await() const;

 private:
  std::vector<Event> done_;  // one per device
};

class Executable {
 public:
  Executable(std::shared_ptr<const Client> client, Handle<pjrt::LoadedExecutableDestroy> handle);

  // Starts the program on all of its devices and returns at once; `arguments` is
  // [device][argument]. The caller keeps the arguments, except those that the module donates
  // (tf.aliasing_output): their memory is in the results now and the Buffers are deleted().
  // Arguments that are not donated may be destroyed at once; the plugin holds them until it is
  // done. When this throws, donated arguments may be lost too. PjrtError: wrong shapes, no memory.
  Execution execute(const std::vector<std::vector<const Buffer*>>& arguments) const;

  std::size_t device_count() const { return device_count_; }
  std::size_t result_count() const { return result_count_; }  // on each device
  const CompiledProgram& program() const { return program_; }
  const Client& client() const { return *client_; }

 private:
  std::shared_ptr<const Client> client_;  // outlives the handles: members die in reverse order
  Handle<pjrt::LoadedExecutableDestroy> handle_;
  CompiledProgram program_;
  std::size_t device_count_ = 0;
  std::size_t result_count_ = 0;
};

}  // namespace smelt
