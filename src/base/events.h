// Events of a long command, such as a finished stage or a saved checkpoint, for a program that
// monitors it: `smelt run --json` prints each as a line of JSON. See docs/reference/json.md.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"

namespace smelt {

// Sends an event to the receiver, if there is one: {"event": name, "time": …} and the fields.
// `time` is in seconds since 1970.
void send_event(std::string_view name, const OrderedJson& fields = OrderedJson::object());

// While an object of this class exists, send_event() passes all events to its function. At most one
// object may exist at a time.
class EventReceiver {
 public:
  explicit EventReceiver(std::function<void(const OrderedJson&)> receive);
  ~EventReceiver();
  EventReceiver(const EventReceiver&) = delete;
  EventReceiver& operator=(const EventReceiver&) = delete;
};

}  // namespace smelt
