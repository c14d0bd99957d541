#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include <iostream>
#include <memory>

#include "base/progress_line.h"
#include "base/str.h"

namespace smelt {
namespace {

// Of OnlyErrors; set and read while one thread sets up or down.
std::string& speaker() {
  static auto* name = new std::string;  // messages may outlive static objects
  return *name;
}

class LevelWord : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    const std::string_view word = message.level >= spdlog::level::err    ? "error: "
                                  : message.level == spdlog::level::warn ? "warning: "
                                                                         : "";
    out.append(word.data(), word.data() + word.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelWord>();
  }
};

class Speaker : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    out.append(speaker().data(), speaker().data() + speaker().size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<Speaker>();
  }
};

class LogSink : public spdlog::sinks::ansicolor_stderr_sink_mt {
 public:
  void log(const spdlog::details::log_msg& message) override {
    const LineAside aside;
    spdlog::sinks::ansicolor_stderr_sink_mt::log(message);
  }
};

// Takes all and keeps nothing.
class Nowhere : public std::streambuf {
 protected:
  int overflow(int character) override { return traits_type::not_eof(character); }
};

}  // namespace

void set_up_log() {
  auto sink = std::make_shared<LogSink>();
  auto pattern = std::make_unique<spdlog::pattern_formatter>();
  pattern->add_flag<LevelWord>('*').add_flag<Speaker>('&');
  pattern->set_pattern(sink->should_color() ? "%H:%M:%S %^%&%v%$" : "%H:%M:%S %*%&%v");
  auto logger = std::make_shared<spdlog::logger>("smelt", std::move(sink));
  logger->set_formatter(std::move(pattern));
  spdlog::set_default_logger(std::move(logger));
}

OnlyErrors::OnlyErrors(const std::string& who)
    : level_(spdlog::default_logger()->level()), out_(std::cout.rdbuf()) {
  static Nowhere nowhere;
  speaker() = str(who, ": ");
  spdlog::set_level(spdlog::level::err);
  std::cout.rdbuf(&nowhere);
}

OnlyErrors::~OnlyErrors() {
  speaker().clear();
  spdlog::set_level(static_cast<spdlog::level::level_enum>(level_));
  std::cout.rdbuf(out_);
}

}  // namespace smelt
