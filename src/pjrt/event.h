// The end of some asynchronous work of a plugin.
#pragma once

#include <memory>
#include <vector>

#include "pjrt/handle.h"

namespace smelt {

class Event {
 public:
  Event(std::shared_ptr<const Plugin> plugin, pjrt::Event* raw) : handle_(std::move(plugin), raw) {}

  // Blocks until the work has ended; PjrtError with the plugin's text when it failed.
  void await() const {
    pjrt::EventAwait args{};
    args.event = handle_.raw();
    handle_.plugin().call(args);
  }

  bool ready() const {
    pjrt::EventIsReady args{};
    args.event = handle_.raw();
    return handle_.plugin().call(args).is_ready;
  }

 private:
  Handle<pjrt::EventDestroy> handle_;
};

using Events = std::shared_ptr<const std::vector<Event>>;

}  // namespace smelt
