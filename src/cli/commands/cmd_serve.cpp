#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <ostream>

#include "base/closed_pipe.h"
#include "base/error.h"
#include "base/json.h"
#include "base/stop_notice.h"
#include "base/stop_signal.h"
#include "cli/commands/commands.h"
#include "cli/commands/served_models.h"
#include "cli/options/ending.h"

namespace smelt::cli {
namespace {

constexpr int kServeProtocol = 1;

// Standard output of `smelt serve`. While it exists, text that other code prints to std::cout goes
// to standard error.
class ServeOutput {
 public:
  ServeOutput() : reserved_(std::cout.rdbuf()), out_(reserved_) {
    std::cout.rdbuf(std::cerr.rdbuf());
  }
  ~ServeOutput() { std::cout.rdbuf(reserved_); }
  ServeOutput(const ServeOutput&) = delete;
  ServeOutput& operator=(const ServeOutput&) = delete;

  // Writes an object as a line, then the arrays as raw bytes. Throws SystemError if the reader has
  // closed the pipe.
  void write(OrderedJson object, const std::vector<ServedArray>& arrays = {}) {
    for (const ServedArray& array : arrays)
      object["arrays"].push_back({{"name", array.name},
                                  {"dtype", "f32"},
                                  {"shape", array.shape},
                                  {"bytes", array.values.size() * sizeof(float)}});
    out_ << object.dump(-1, ' ', false, JsonInvalidUtf8::replace) << "\n";
    for (const ServedArray& array : arrays)
      out_.write(reinterpret_cast<const char*>(array.values.data()),
                 static_cast<std::streamsize>(array.values.size() * sizeof(float)));
    if (!out_.flush()) throw SystemError("serve: standard output was closed by its reader");
  }

 private:
  std::streambuf* reserved_;
  std::ostream out_;
};

OrderedJson serve_error(const std::exception_ptr& error) {
  const Ending ending = ending_of(error);
  const ErrorParts parts = error_parts(ending.text);
  return {{"kind", exit_name(ending.code)}, {"what", parts.what}, {"hint", parts.hint}};
}

Json parsed_request(const std::string& line) {
  Json request = Json::parse_or_discard(line);
  if (!request.is_object())
    throw UsageError(str("serve: a request must be a JSON object on one line, found '",
                         line.substr(0, 60), line.size() > 60 ? "...'" : "'"),
                     "send for example {\"id\": 1, \"do\": \"load\", \"path\": \"FOLDER\"}");
  return request;
}

class Server {
 public:
  // Answers requests until the end of standard input. SIGINT stops only the current request;
  // SIGTERM and SIGHUP end the program after it, by throwing Stopped.
  void run() {
    out_.write({{"smelt", SMELT_VERSION}, {"protocol", kServeProtocol}});
    for (std::string line; std::getline(std::cin, line);)
      if (line.find_first_not_of(" \t\r") != line.npos) serve(line);
  }

 private:
  void serve(const std::string& line) {
    const StopSignal stop("serve: stopping the request after this batch\n");
    OrderedJson id;
    try {
      const Json request = parsed_request(line);
      id = OrderedJson(request.value("id", Json()));
      ServedAnswer answer = models_.answer(request, [&](std::size_t done, std::size_t total) {
        check_stop();
        if (done < total)
          out_.write({{"id", id}, {"event", "progress"}, {"done", done}, {"total", total}});
      });
      out_.write({{"id", id}, {"answer", std::move(answer.json)}}, answer.arrays);
    } catch (const std::exception&) {
      out_.write({{"id", id}, {"error", serve_error(std::current_exception())}});
    }
    if (StopSignal::raised() && StopSignal::number() != SIGINT)
      throw Stopped("serve: stopped by a signal", "start it again and load the models");
  }

  static void check_stop() {
    if (has_outlived_output_reader())
      throw SystemError("serve: standard output was closed by its reader");
    if (StopSignal::raised())
      throw Stopped("serve: the request was stopped by a signal", "send it again");
  }

  ServeOutput out_;
  ServedModels models_;
};

}  // namespace

void add_serve_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "serve",
      "run inference for another program: JSON requests on standard input, answers on standard "
      "output (docs/reference/serve.md)");
  command->callback([] {
    // A program that was started in the background ignores SIGINT, and so would its children.
    std::signal(SIGINT, SIG_DFL);
    end_at_signals();
    outlive_output_reader();
    Server().run();
  });
}

}  // namespace smelt::cli
