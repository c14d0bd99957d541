#include "runtime/executable.h"

namespace smelt {
namespace {

Handle<pjrt::ExecutableDestroy> program_of(const Handle<pjrt::LoadedExecutableDestroy>& handle) {
  pjrt::LoadedExecutableGetExecutable args{};
  args.loaded_executable = handle.raw();
  return {handle.shared_plugin(), handle.plugin().call(args).executable};
}

std::size_t devices_of(const Handle<pjrt::LoadedExecutableDestroy>& handle) {
  pjrt::LoadedExecutableAddressableDevices args{};
  args.executable = handle.raw();
  return handle.plugin().call(args).num_addressable_devices;
}

// [device][…] as the ABI wants it: an array of pointers to rows.
template <class T>
std::vector<T*> rows(std::vector<std::vector<T>>& table) {
  std::vector<T*> out;
  for (auto& row : table) out.push_back(row.data());
  return out;
}

}  // namespace

void Execution::await() const {
  for (const Event& event : done_) event.await();
}

Executable::Executable(std::shared_ptr<const Client> client,
                       Handle<pjrt::LoadedExecutableDestroy> handle)
    : client_(std::move(client)),
      handle_(std::move(handle)),
      program_(program_of(handle_)),
      device_count_(devices_of(handle_)),
      result_count_(program_.result_count()) {}

Execution Executable::execute(const std::vector<std::vector<const Buffer*>>& arguments) const {
  CHECK(arguments.size() == device_count_, arguments.size(), " lists for ", device_count_,
        " devices");
  std::vector<std::vector<pjrt::Buffer*>> inputs;
  for (const auto& list : arguments) {
    CHECK(list.size() == arguments[0].size(), list.size(), " arguments, ", arguments[0].size());
    auto& row = inputs.emplace_back();
    for (const Buffer* buffer : list) row.push_back(buffer->raw());
  }
  std::vector<std::vector<pjrt::Buffer*>> outputs(device_count_,
                                                  std::vector<pjrt::Buffer*>(result_count_));
  std::vector<pjrt::Event*> events(device_count_);
  const auto input_rows = rows(inputs);
  const auto output_rows = rows(outputs);
  pjrt::ExecuteOptions options{};
  options.struct_size = pjrt::struct_size<pjrt::ExecuteOptions>();
  pjrt::LoadedExecutableExecute args{};
  args.executable = handle_.raw();
  args.options = &options;
  args.argument_lists = input_rows.data();
  args.num_devices = device_count_;
  args.num_args = arguments.empty() ? 0 : arguments[0].size();
  args.output_lists = output_rows.data();
  args.device_complete_events = events.data();
  client_->plugin()->call(args);

  std::vector<std::vector<Buffer>> results;
  std::vector<Event> done;
  for (std::size_t device = 0; device < device_count_; ++device) {
    auto& row = results.emplace_back();
    for (pjrt::Buffer* raw : outputs[device]) row.emplace_back(client_, raw);
    done.emplace_back(client_->plugin(), events[device]);
  }
  return Execution(std::move(results), std::move(done));
}

}  // namespace smelt
