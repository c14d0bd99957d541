#include "cli/options/json_output.h"

#include <iostream>
#include <ostream>

#include "base/error.h"
#include "base/events.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/nowhere.h"
#include "cli/options/ending.h"

namespace smelt::cli {
namespace {

// Reserves standard output for JSON: until it is destroyed, std::cout writes to standard error, or
// nowhere with --quiet.
class JsonOutput {
 public:
  JsonOutput() : text_(std::cout.rdbuf()), out_(text_) {
    const bool is_quiet = log_level() > LogLevel::info;
    std::cout.rdbuf(is_quiet ? &nowhere_ : std::cerr.rdbuf());
  }
  ~JsonOutput() { std::cout.rdbuf(text_); }
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  // Replaces bytes that are not UTF-8 by U+FFFD. In a multi-host run only rank 0 prints.
  void print(const OrderedJson& object) {
    if (is_one_of_many()) return;
    out_ << object.dump(-1, ' ', false, JsonInvalidUtf8::replace) << "\n" << std::flush;
    if (!out_) std::cout.setstate(std::ios::badbit);  // checked when the command ends
  }

 private:
  Nowhere nowhere_;
  std::streambuf* text_;
  std::ostream out_;
};

OrderedJson error_json(const std::exception_ptr& error) {
  const Ending ending = ending_of(error);
  const ErrorParts parts = error_parts(ending.text);
  return {{"exit", ending.code},
          {"kind", exit_name(ending.code)},
          {"message", parts.what},
          {"hint", parts.hint}};
}

}  // namespace

void add_json_flag(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "print JSON instead of text (docs/reference/json.md)");
}

void print_result(bool json, const std::function<OrderedJson()>& work) {
  if (!json) {
    (void)work();
    return;
  }
  JsonOutput output;
  output.print(work());
}

void print_events(bool json, const std::function<OrderedJson()>& work) {
  if (!json) {
    (void)work();
    return;
  }
  JsonOutput output;
  const EventReceiver receiver([&](const OrderedJson& event) { output.print(event); });
  try {
    send_event("result", work());
  } catch (const ExitStatus&) {
    throw;  // another process reports the error
  } catch (...) {
    send_event("error", error_json(std::current_exception()));
    throw;
  }
}

}  // namespace smelt::cli
