// Version and log of the library.
#include <smelt.h>

#include <mutex>

#include "base/log_receiver.h"

namespace smelt::c_api {
namespace {

struct Receiver {
  smelt_log_receiver call = nullptr;
  void* context = nullptr;
};
std::mutex receiver_mutex;
Receiver receiver;

// Copies the receiver before calling it, so that it may call smelt_on_log() itself.
void pass_on(LogLevel level, std::string_view text) {
  Receiver now;
  {
    const std::lock_guard lock(receiver_mutex);
    now = receiver;
  }
  if (now.call != nullptr) now.call(now.context, static_cast<int>(level), text.data(), text.size());
}

// Replaces the default logger, which prints to standard output, when the library is loaded.
[[maybe_unused]] const bool is_log_set_up = [] {
  set_log_receiver(pass_on);
  return true;
}();

}  // namespace
}  // namespace smelt::c_api

uint32_t smelt_abi(void) { return SMELT_ABI; }

const char* smelt_version(void) { return SMELT_VERSION; }

void smelt_on_log(smelt_log_receiver call, void* context) {
  const std::lock_guard lock(smelt::c_api::receiver_mutex);
  smelt::c_api::receiver = {call, context};
}
