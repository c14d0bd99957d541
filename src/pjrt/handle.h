// Owning handles to objects of a plugin.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "pjrt/plugin.h"

namespace smelt::pjrt {

// Unique owner of a plugin object. `Destroy` is the argument struct of the function that destroys
// it.
template <class Destroy>
class Handle {
 public:
  using Object = std::remove_reference_t<decltype(std::declval<Destroy&>().*Destroy::kLast)>;

  Handle() = default;
  Handle(std::shared_ptr<const Plugin> plugin, Object object)
      : plugin_(std::move(plugin)), object_(object) {}
  Handle(Handle&& other) noexcept
      : plugin_(std::move(other.plugin_)), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle other) noexcept {
    std::swap(plugin_, other.plugin_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ == nullptr) return;
    try {
      Destroy args{};
      args.*Destroy::kLast = object_;
      plugin_->call(args);
    } catch (const std::exception& error) {
      log_warning("{}", error.what());
    }
  }

  explicit operator bool() const { return object_ != nullptr; }
  Object raw() const { return object_; }
  const Plugin& plugin() const { return *plugin_; }
  const std::shared_ptr<const Plugin>& shared_plugin() const { return plugin_; }

 private:
  std::shared_ptr<const Plugin> plugin_;
  Object object_ = nullptr;
};

// The completion of asynchronous work of a plugin.
class Event {
 public:
  Event(std::shared_ptr<const Plugin> plugin, pjrt_abi::Event* raw)
      : handle_(std::move(plugin), raw) {}

  // Blocks until the work has ended. Throws PjrtError if it failed.
  void await() const {
    pjrt_abi::EventAwait args{};
    args.event = handle_.raw();
    handle_.plugin().call(args);
  }

  bool ready() const {
    pjrt_abi::EventIsReady args{};
    args.event = handle_.raw();
    return handle_.plugin().call(args).is_ready;
  }

 private:
  Handle<pjrt_abi::EventDestroy> handle_;
};

using Events = std::shared_ptr<const std::vector<Event>>;

}  // namespace smelt::pjrt
