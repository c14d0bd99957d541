#include "train/stop_signal.h"

#include <csignal>

namespace smelt {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT};
volatile std::sig_atomic_t raised_signal = 0;

}  // namespace

StopSignal::StopSignal() {
  raised_signal = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    old_[i] = std::signal(kSignals[i], [](int signal) { raised_signal = signal; });
}

StopSignal::~StopSignal() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], old_[i]);
}

bool StopSignal::raised() { return raised_signal != 0; }

}  // namespace smelt
