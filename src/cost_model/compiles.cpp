#include "cost_model/compiles.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/number_format.h"
#include "base/parallel.h"
#include "base/stop_signal.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "pjrt/find_plugin.h"

namespace smelt::cost_model {
namespace {

namespace fs = std::filesystem;

constexpr double kProcessBytes = 4e9;  // approximate memory of a compilation

int process_count(int wanted) {
  if (wanted > 0) return wanted;
  const double memory = machine_memory();
  return std::max(1, std::min(available_threads(), static_cast<int>(memory / kProcessBytes)));
}

// A temporary folder that the destructor deletes.
class Scratch {
 public:
  Scratch() {
    std::string path = fs::temp_directory_path() / "smelt-plan-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) throw_errno("make folder", path, errno);
    path_ = path;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string file(const char* name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Starts a process that writes its output to the files `out` and `err`. Sets its TMPDIR to
// `scratch`, so that its temporary files can be removed even if it is killed.
::pid_t start(const std::string& program, const std::vector<std::string>& words,
              const std::string& scratch, const std::string& out, const std::string& err) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::string temporary = "TMPDIR=" + scratch;
  std::vector<char*> variables{temporary.data()};
  for (char** one = environ; *one != nullptr; ++one)
    if (!std::string_view(*one).starts_with("TMPDIR=")) variables.push_back(*one);
  variables.push_back(nullptr);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [descriptor, path] :
       {std::pair{STDOUT_FILENO, out}, std::pair{STDERR_FILENO, err}})
    ::posix_spawn_file_actions_addopen(&actions, descriptor, path.c_str(),
                                       O_CREAT | O_WRONLY | O_TRUNC, 0600);
  ::pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw_errno("start", "a process to compile in", error);
  return child;
}

// Waits until the process ends. Returns its wait status, or nullopt if it was killed because of the
// time limit or a stop signal.
std::optional<int> wait_for(::pid_t child, std::chrono::seconds limit) {
  const auto begin = Clock::now();
  int status = 0;
  while (true) {
    const ::pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) throw_errno("wait for", "a process to compile in", errno);
    if (StopSignal::raised() || seconds_since(begin) > static_cast<double>(limit.count())) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return std::nullopt;
}

Json json(const std::vector<SentBytes>& sent) {
  Json out = Json::object();
  for (const SentBytes& s : sent)
    out[s.axes] = {{"all_reduce", s.all_reduce},
                   {"other", s.other},
                   {"asynchronous_all_reduce", s.asynchronous_all_reduce},
                   {"asynchronous_other", s.asynchronous_other}};
  return out;
}

std::vector<SentBytes> sent_bytes_of(const Json& by_axes) {
  std::vector<SentBytes> out;
  for (const auto& [axes, sent] : by_axes.items())
    out.push_back({.axes = axes,
                   .all_reduce = sent.value("all_reduce", 0.0),
                   .other = sent.value("other", 0.0),
                   .asynchronous_all_reduce = sent.value("asynchronous_all_reduce", 0.0),
                   .asynchronous_other = sent.value("asynchronous_other", 0.0)});
  return out;
}

Compiled from_report(const Json& report) {
  const auto value = [&](const char* name) { return report.at(name).get<double>(); };
  return {.end = CompileEnd::fits,
          .problem = {},
          .arguments = value("argument_bytes"),
          .outputs = value("output_bytes"),
          .aliased = value("alias_bytes"),
          .temporaries = value("temporary_bytes"),
          .code = value("code_bytes"),
          .cycles = value("scheduled"),
          .unread = value("unread"),
          .moved = value("moved_bytes"),
          .sent = sent_bytes_of(report.at("sent_bytes")),
          .compile_seconds = value("compile_s")};
}

// Parses the error output of `smelt compile`: the part after kFit if the program does not fit, else
// the first error.
Compiled from_errors(const std::string& log, int status) {
  constexpr std::string_view kFit = "does not fit into the memory of a device: ";
  Compiled out;
  const std::size_t at = log.find(kFit), error = log.find("error: ");
  if (at != log.npos) {
    out.end = CompileEnd::does_not_fit;
    const std::size_t begin = at + kFit.size();
    out.problem = log.substr(begin, log.find('\n', begin) - begin);
  } else if (WIFSIGNALED(status)) {
    out.problem = str("the compiler was killed by signal ", WTERMSIG(status),
                      WTERMSIG(status) == SIGKILL ? ", possibly out of memory" : "");
  } else {
    const std::size_t begin = error == log.npos ? 0 : error + 7;
    out.problem = log.substr(begin, log.find('\n', begin) - begin);
  }
  if (out.problem.empty())
    out.problem = str("the compiler exited with status ", WEXITSTATUS(status), " and no report");
  return out;
}

// Returns the cache file name: a hash of the program, the topology and the plugin file.
std::string name_of(const CompileRequest& request) {
  const std::string plugin = pjrt::find_plugin("tpu");
  const auto status = io::file_status(plugin);
  const std::string key = str(plugin, " ", status ? status->size : 0, " ",
                              status ? status->modified : 0, " ", request.program);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : key)
    hash = (hash ^ static_cast<unsigned char>(byte)) * std::uint64_t{0x100000001b3};
  std::string topology = request.topology;
  std::ranges::replace(topology, ':', '-');
  return str("3-", topology, "-", key.size(), "-", hex(io::crc32c(key)), "-", hex(hash), ".json");
}

Json to_json(const Compiled& c) {
  return {{"fits", c.end == CompileEnd::fits},
          {"problem", c.problem},
          {"arguments", c.arguments},
          {"outputs", c.outputs},
          {"aliased", c.aliased},
          {"temporaries", c.temporaries},
          {"code", c.code},
          {"cycles", c.cycles},
          {"unread", c.unread},
          {"moved", c.moved},
          {"sent", json(c.sent)},
          {"compile_seconds", c.compile_seconds}};
}

std::optional<Compiled> from_cache_file(const std::string& path) try {
  if (!io::exists(path)) return std::nullopt;
  const Json j = Json::parse(io::read_file(path, io::kSmallFileBytes));
  const auto value = [&](const char* name) { return j.at(name).get<double>(); };
  return Compiled{.end = j.at("fits").get<bool>() ? CompileEnd::fits : CompileEnd::does_not_fit,
                  .problem = j.at("problem").get<std::string>(),
                  .arguments = value("arguments"),
                  .outputs = value("outputs"),
                  .aliased = value("aliased"),
                  .temporaries = value("temporaries"),
                  .code = value("code"),
                  .cycles = value("cycles"),
                  .unread = value("unread"),
                  .moved = value("moved"),
                  .sent = sent_bytes_of(j.at("sent")),
                  .compile_seconds = value("compile_seconds"),
                  .from_cache = true};
} catch (const std::exception&) {
  return std::nullopt;  // written by another version, or damaged: compile again
}

}  // namespace

TpuCompiles::TpuCompiles(std::string folder, Limits limits)
    : folder_(std::move(folder)), limits_(limits) {}

std::string TpuCompiles::user_cache_folder() {
  const auto cache = pjrt::user_folder("XDG_CACHE_HOME", ".cache");
  return cache ? io::join_path(*cache, "smelt/plans") : std::string();
}

Compiled TpuCompiles::cached_or_compiled(const CompileRequest& request,
                                         const std::function<void()>& begin) const {
  const std::string path = folder_.empty() ? "" : io::join_path(folder_, name_of(request));
  if (!path.empty() && !limits_.ignore_cache)
    if (const auto kept = from_cache_file(path)) return *kept;
  begin();
  if (path.empty()) return compiled_now(request);
  const Compiled compiled = compiled_now(request);
  if (compiled.end == CompileEnd::failed) return compiled;
  try {
    io::make_folders(folder_);
    io::write_file(path, to_json(compiled).dump(2) + "\n");
  } catch (const Error& error) {
    log_warning("cannot cache the compiled plan: {}", error.what());
  }
  return compiled;
}

Compiled TpuCompiles::compiled_now(const CompileRequest& request) const {
  const Scratch scratch;
  const std::string program = scratch.file("step.mlir"), out = scratch.file("out"),
                    err = scratch.file("err");
  io::write_file(program, request.program);
  const auto begin = Clock::now();
  const auto status = wait_for(start(limits_.smelt,
                                     {"smelt", "compile", "--json", "--with-parent", "--topology",
                                      request.topology, program},
                                     scratch.path(), out, err),
                               limits_.time_limit);
  // Ctrl-C on a terminal also kills the compiler.
  if ((!status || *status != 0) && StopSignal::raised())
    throw Stopped("plan: stopped by a signal", "run it again; compiled programs are cached");
  if (!status) {
    Compiled late;
    late.problem = str("not compiled within ", limits_.time_limit.count(), " s");
    return late;
  }
  const Json report = Json::parse_or_discard(io::read_file(out));
  Compiled compiled = *status == 0 && report.is_object() ? from_report(report)
                                                         : from_errors(io::read_file(err), *status);
  compiled.compile_seconds = seconds_since(begin);
  return compiled;
}

std::vector<Compiled> TpuCompiles::run(std::span<const CompileRequest> requests, const Done& done,
                                       const Begun& begun) const {
  std::map<CompileRequest, std::vector<std::size_t>> equal;
  for (std::size_t i = 0; i < requests.size(); ++i) equal[requests[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [request, numbers] : equal) groups.push_back(std::move(numbers));
  std::ranges::sort(groups);
  std::vector<Compiled> out(requests.size());
  const StopSignal stop("plan: stopping the compilers\n");
  std::mutex callbacks;
  run_each(groups.size(), process_count(limits_.max_processes), [&](std::size_t g) {
    const Compiled compiled = cached_or_compiled(requests[groups[g].front()], [&] {
      const std::lock_guard lock(callbacks);
      if (begun) begun(groups[g].front());
    });
    const std::lock_guard lock(callbacks);
    for (const std::size_t i : groups[g]) {
      out[i] = compiled;
      if (done) done(i, out[i]);
    }
  });
  return out;
}

}  // namespace smelt::cost_model
