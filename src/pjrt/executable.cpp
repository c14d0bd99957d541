#include "pjrt/executable.h"

#include <algorithm>
#include <exception>
#include <numeric>

#include "pjrt/host_memory.h"

namespace smelt::pjrt {
namespace {

Handle<pjrt_abi::ExecutableDestroy> program_of(
    const Handle<pjrt_abi::LoadedExecutableDestroy>& handle) {
  pjrt_abi::LoadedExecutableGetExecutable args{};
  args.loaded_executable = handle.raw();
  return {handle.shared_plugin(), handle.plugin().call(args).executable};
}

// Returns the devices in the plugin's own order, which is also the order of its argument lists.
std::vector<int> devices_of(const Client& client,
                            const Handle<pjrt_abi::LoadedExecutableDestroy>& handle) {
  pjrt_abi::LoadedExecutableAddressableDevices args{};
  args.executable = handle.raw();
  args = handle.plugin().call(args);
  std::vector<int> out;
  for (std::size_t i = 0; i < args.num_addressable_devices; ++i)
    out.push_back(client.device_of(args.addressable_devices[i]));
  return out;
}

std::vector<std::size_t> ascending(const std::vector<int>& devices) {
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::size_t i) { return devices[i]; });
  return order;
}

// Returns the next launch number. Skips 0, which means that launches are not numbered.
int next_launch(std::atomic<std::uint32_t>& next) {
  const std::uint32_t number = next++;
  return static_cast<int>(number == 0 ? next++ : number);
}

// Converts [device][…] to an array of row pointers, as the ABI requires.
template <class T>
std::vector<T*> rows(std::vector<std::vector<T>>& table) {
  std::vector<T*> out;
  for (auto& row : table) out.push_back(row.data());
  return out;
}

}  // namespace

void Execution::await() const {
  for (const Event& event : *done_) event.await();
}

bool Execution::ended() const {
  return std::ranges::all_of(*done_, [](const Event& event) { return event.ready(); });
}

Executable::Executable(std::shared_ptr<const Client> client,
                       Handle<pjrt_abi::LoadedExecutableDestroy> handle, std::uint32_t launch)
    : client_(std::move(client)),
      handle_(std::move(handle)),
      program_(program_of(handle_)),
      devices_(devices_of(*client_, handle_)),
      launch_(std::make_unique<std::atomic<std::uint32_t>>(launch)),
      result_count_(program_.result_count()) {
  lists_ = ascending(devices_);
  std::ranges::sort(devices_);
}

Executable::~Executable() {
  if (client_ == nullptr) return;  // this object was moved from
  try {
    client_->await_latest();
  } catch (const std::exception&) {  // destructors must not throw
  }
  handle_ = {};
  release_freed_memory();
}

Execution Executable::execute(const std::vector<std::vector<const Buffer*>>& arguments) const {
  CHECK(arguments.size() == device_count(), arguments.size(), " lists for ", device_count(),
        " devices");
  std::vector<std::vector<pjrt_abi::Buffer*>> inputs(device_count());
  for (std::size_t own = 0; own < arguments.size(); ++own) {
    const auto& list = arguments[own];
    CHECK(list.size() == arguments[0].size(), list.size(), " arguments, ", arguments[0].size());
    for (const Buffer* buffer : list) inputs[lists_[own]].push_back(buffer->raw());
  }
  std::vector<std::vector<pjrt_abi::Buffer*>> outputs(
      device_count(), std::vector<pjrt_abi::Buffer*>(result_count_));
  std::vector<pjrt_abi::Event*> events(device_count());
  const auto input_rows = rows(inputs);
  const auto output_rows = rows(outputs);
  pjrt_abi::ExecuteOptions options{};
  options.struct_size = pjrt_abi::struct_size<pjrt_abi::ExecuteOptions>();
  // In a single process the plugin numbers its launches itself.
  if (client_->process_count() > 1) options.launch_id = next_launch(*launch_);
  pjrt_abi::LoadedExecutableExecute args{};
  args.executable = handle_.raw();
  args.options = &options;
  args.argument_lists = input_rows.data();
  args.num_devices = device_count();
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = output_rows.data();
  args.device_complete_events = events.data();
  client_->await_latest();
  client_->plugin()->call(args);

  std::vector<std::vector<Buffer>> results;
  std::vector<Event> done;
  for (const std::size_t list : lists_) {
    auto& row = results.emplace_back();
    for (pjrt_abi::Buffer* raw : outputs[list]) row.emplace_back(client_, raw);
    done.emplace_back(client_->plugin(), events[list]);
  }
  const auto all_done = std::make_shared<const std::vector<Event>>(std::move(done));
  client_->note_latest(all_done);
  return {std::move(results), all_done};
}

}  // namespace smelt::pjrt
