#include "base/events.h"

#include <chrono>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace smelt {
namespace {

std::mutex guard;
std::function<void(const OrderedJson&)>& receiver() {
  static auto* kept = new std::function<void(
      const OrderedJson&)>;  // never destroyed, because other threads may still use it
  return *kept;
}

}  // namespace

void send_event(std::string_view name, const OrderedJson& fields) {
  const std::scoped_lock lock(guard);
  if (!receiver()) return;
  using Milliseconds = std::chrono::milliseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto time = std::chrono::duration_cast<Milliseconds>(now).count();
  OrderedJson event{{"event", name}, {"time", static_cast<double>(time) / 1000}};
  event.update(fields);
  receiver()(event);
}

EventReceiver::EventReceiver(std::function<void(const OrderedJson&)> receive) {
  const std::scoped_lock lock(guard);
  CHECK(!receiver());
  receiver() = std::move(receive);
}

EventReceiver::~EventReceiver() {
  const std::scoped_lock lock(guard);
  receiver() = nullptr;
}

}  // namespace smelt
