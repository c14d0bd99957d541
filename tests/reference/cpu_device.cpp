#include "reference/cpu_device.h"

#include <map>

#include "base/error.h"
#include "pjrt/executable.h"
#include "pjrt/find_plugin.h"

namespace smelt::testing {

using compiler::emit_module;
using compiler::Program;
using compiler::Shape;
namespace {

const pjrt::Client& cpu(int devices) {
  static std::map<int, std::shared_ptr<const pjrt::Client>> clients;
  auto& client = clients[devices];
  if (!client) client = pjrt::open_device("cpu", devices);
  return *client;
}

std::vector<Value> fetch(const std::vector<pjrt::Buffer>& buffers) {
  std::vector<Value> values;
  for (const pjrt::Buffer& buffer : buffers) {
    const Shape shape = buffer.shape();
    std::vector<std::byte> bytes(shape.size_bytes());
    buffer.copy_to_host(bytes);
    values.push_back(from_bytes(shape, bytes));
  }
  return values;
}

std::vector<std::vector<Value>> run(const Program& program, const pjrt::Client& client,
                                    const pjrt::CompileOptions& options,
                                    const std::vector<std::vector<Value>>& arguments) {
  const pjrt::Executable executable = client.compile(emit_module(program, "test"), options);
  std::vector<std::vector<pjrt::Buffer>> buffers(arguments.size());
  std::vector<std::vector<const pjrt::Buffer*>> pointers(arguments.size());
  for (std::size_t d = 0; d < arguments.size(); ++d) {
    for (const Value& value : arguments[d])
      buffers[d].push_back(client.to_device(to_bytes(value), value.shape, static_cast<int>(d)));
    for (const pjrt::Buffer& buffer : buffers[d]) pointers[d].push_back(&buffer);
  }
  const pjrt::Execution execution = executable.execute(pointers);
  std::vector<std::vector<Value>> results;
  for (const auto& on_device : execution.results) results.push_back(fetch(on_device));
  return results;
}

}  // namespace

std::vector<Value> run_on_cpu(const Program& program, const std::vector<Value>& arguments,
                              const pjrt::CompileOptions& options) {
  return run(program, cpu(1), options, {arguments})[0];
}

std::vector<std::vector<Value>> run_on_mesh(const Program& program,
                                            const std::vector<std::vector<Value>>& arguments) {
  const int devices = static_cast<int>(arguments.size());
  pjrt::CompileOptions options;
  options.num_partitions = devices;
  return run(program, cpu(devices), options, arguments);
}

std::vector<std::vector<Value>> run_on_replicas(const Program& program,
                                                const std::vector<std::vector<Value>>& arguments) {
  const int devices = static_cast<int>(arguments.size());
  pjrt::CompileOptions options;
  options.num_replicas = devices;
  return run(program, cpu(devices), options, arguments);
}

}  // namespace smelt::testing
