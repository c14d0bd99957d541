#include "base/log.h"

#include <fmt/args.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <iostream>
#include <memory>
#include <utility>

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

constexpr std::array<std::pair<LogLevel, spdlog::level::level_enum>, 5> kLevels = {
    {{LogLevel::debug, spdlog::level::debug},
     {LogLevel::info, spdlog::level::info},
     {LogLevel::warning, spdlog::level::warn},
     {LogLevel::error, spdlog::level::err},
     {LogLevel::off, spdlog::level::off}}};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  return kLevels[static_cast<std::size_t>(level)].second;
}

}  // namespace

void internal::log(LogLevel level, std::string_view format,
                   std::initializer_list<LogArgument> arguments) {
  spdlog::logger& logger = *spdlog::default_logger_raw();
  if (!logger.should_log(spdlog_level(level))) return;
  if (arguments.size() == 0) return logger.log(spdlog_level(level), format);
  fmt::dynamic_format_arg_store<fmt::format_context> store;
  for (const LogArgument& argument : arguments)
    std::visit([&](const auto& value) { store.push_back(value); }, argument);
  try {
    logger.log(spdlog_level(level), fmt::vformat(format, store));
  } catch (const fmt::format_error& error) {  // a placeholder for another type than its argument's
    logger.log(spdlog_level(level), str(format, " (", error.what(), ")"));
  }
}

LogLevel log_level() {
  const auto level = spdlog::default_logger_raw()->level();
  for (const auto& [ours, theirs] : kLevels)
    if (theirs >= level) return ours;
  return LogLevel::off;
}

void set_log_level(LogLevel least) { spdlog::set_level(spdlog_level(least)); }

void flush_log() { spdlog::default_logger()->flush(); }

void set_up_log() {
  auto sink = std::make_shared<LogSink>();
  auto pattern = std::make_unique<spdlog::pattern_formatter>();
  pattern->add_flag<LevelWord>('*').add_flag<Speaker>('&');
  pattern->set_pattern(sink->should_color() ? "%H:%M:%S %^%&%v%$" : "%H:%M:%S %*%&%v");
  auto logger = std::make_shared<spdlog::logger>("smelt", std::move(sink));
  logger->set_formatter(std::move(pattern));
  spdlog::set_default_logger(std::move(logger));
}

OnlyErrors::OnlyErrors(const std::string& who) : level_(log_level()), out_(std::cout.rdbuf()) {
  static Nowhere nowhere;
  speaker() = str(who, ": ");
  set_log_level(LogLevel::error);
  std::cout.rdbuf(&nowhere);
}

OnlyErrors::~OnlyErrors() {
  speaker().clear();
  set_log_level(level_);
  std::cout.rdbuf(out_);
}

}  // namespace smelt
