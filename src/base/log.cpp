#include "base/log.h"

#include <fmt/args.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/log_receiver.h"
#include "base/nowhere.h"
#include "base/progress_line.h"
#include "base/str.h"

namespace smelt {
namespace {

// The prefix that ErrorsOnly sets. Only set while no other thread logs.
std::string& speaker() {
  static auto* name = new std::string;  // never destroyed, because static destructors may log
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
    const ProgressPause aside;
    spdlog::sinks::ansicolor_stderr_sink_mt::log(message);
  }
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

// The destinations of messages. Never destroyed, because static destructors may log.
struct Sinks {
  std::shared_ptr<LogSink> terminal;
  std::shared_ptr<spdlog::sinks::sink> file;  // null without a log file
};
Sinks& sinks() {
  static auto* all = new Sinks;
  return *all;
}

std::shared_ptr<spdlog::sinks::sink> open_log_file(const std::string& path) try {
  auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  auto pattern = std::make_unique<spdlog::pattern_formatter>();
  pattern->add_flag<Speaker>('&').set_pattern("%Y-%m-%dT%H:%M:%S%z %l: %&%v");
  file->set_formatter(std::move(pattern));
  return file;
} catch (const spdlog::spdlog_ex& error) {
  throw UsageError(str("--log-file ", path, ": cannot be opened: ", error.what()),
                   "name a file in a folder that you may write to");
}

LogLevel level_of(spdlog::level::level_enum level) {
  for (const auto& [ours, theirs] : kLevels)
    if (theirs >= level) return ours;
  return LogLevel::off;
}

// Passes messages to a function instead of printing them.
class ReceiverSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  using Receive = std::function<void(LogLevel, std::string_view)>;
  explicit ReceiverSink(Receive receive) : receive_(std::move(receive)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    receive_(level_of(message.level), {message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  Receive receive_;
};

LogLevel logger_level() { return level_of(spdlog::default_logger_raw()->level()); }

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
  } catch (const fmt::format_error& error) {  // a placeholder does not fit the type of its argument
    logger.log(spdlog_level(level), str(format, " (", error.what(), ")"));
  }
}

LogLevel log_level() {
  const auto& terminal = sinks().terminal;
  return terminal ? std::max(logger_level(), level_of(terminal->level())) : logger_level();
}

void set_log_level(LogLevel least) { spdlog::set_level(spdlog_level(least)); }

void flush_log() { spdlog::default_logger()->flush(); }

void log_to_file(LogLevel level, std::string_view text) {
  const auto& file = sinks().file;
  const spdlog::details::log_msg message("smelt", spdlog_level(level), text);
  if (!file || level < logger_level()) return;
  file->log(message);
  file->flush();
}

void set_up_log(const LogOptions& options) {
  auto terminal = std::make_shared<LogSink>();
  auto pattern = std::make_unique<spdlog::pattern_formatter>();
  pattern->add_flag<LevelWord>('*').add_flag<Speaker>('&');
  pattern->set_pattern(terminal->should_color() ? "%H:%M:%S %^%&%v%$" : "%H:%M:%S %*%&%v");
  terminal->set_formatter(std::move(pattern));
  if (options.quiet) terminal->set_level(spdlog::level::warn);
  sinks() = {terminal, options.file.empty() ? nullptr : open_log_file(options.file)};
  auto logger = std::make_shared<spdlog::logger>("smelt", std::move(terminal));
  if (sinks().file) logger->sinks().push_back(sinks().file);
  logger->set_level(spdlog_level(options.level));
  logger->flush_on(spdlog::level::debug);  // a signal may end the process at any time
  spdlog::set_default_logger(std::move(logger));
}

void set_log_receiver(std::function<void(LogLevel level, std::string_view text)> receive) {
  sinks() = {};
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "smelt", std::make_shared<ReceiverSink>(std::move(receive))));
}

bool is_one_of_many() { return !speaker().empty(); }

ErrorsOnly::ErrorsOnly(const std::string& who) : level_(logger_level()), out_(std::cout.rdbuf()) {
  static Nowhere nowhere;
  speaker() = str(who, ": ");
  set_log_level(LogLevel::error);
  std::cout.rdbuf(&nowhere);
}

ErrorsOnly::~ErrorsOnly() {
  speaker().clear();
  set_log_level(level_);
  std::cout.rdbuf(out_);
}

}  // namespace smelt
