#include "support/captured_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>

namespace smelt {
namespace {

class Sink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    text_.append(line.data(), line.size());
  }
  void flush_() override {}

  std::string text_;
};

}  // namespace

struct CapturedLog::State {
  const std::shared_ptr<Sink> sink = std::make_shared<Sink>();
  const std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
};

CapturedLog::CapturedLog() : state_(std::make_unique<State>()) {
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", state_->sink));
}

CapturedLog::~CapturedLog() { spdlog::set_default_logger(state_->before); }

std::string CapturedLog::text() const { return state_->sink->text(); }

}  // namespace smelt
