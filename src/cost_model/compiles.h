// Compiles programs for TPUs that this machine does not have, to predict memory and time. Each
// compilation runs in a separate process with a time limit, several in parallel, so a crash does
// not affect the others. Results are cached.
#pragma once

#include <chrono>
#include <compare>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace smelt::cost_model {

// A program to compile: StableHLO text, for the devices of a topology by libtpu's name.
struct CompileRequest {
  std::string program, topology;
  auto operator<=>(const CompileRequest&) const = default;
};

// The outcome of a compilation.
enum class CompileEnd { fits, does_not_fit, failed };

// Bytes that a device sends along axes of the mesh, in all-reduces and in other collectives.
// `all_reduce` includes asynchronous_all_reduce, and `other` includes asynchronous_other.
struct SentBytes {
  std::string axes;  // "data", "fsdp+tensor"
  double all_reduce = 0, other = 0, asynchronous_all_reduce = 0, asynchronous_other = 0;
};

// libtpu's report for the program of one device.
struct Compiled {
  CompileEnd end = CompileEnd::failed;
  std::string problem;  // libtpu's message or the reason of the failure; "" if the program fits
  double arguments = 0, outputs = 0, aliased = 0, temporaries = 0, code = 0;  // bytes
  // Cycles of the compiler's schedule (pjrt/schedule.h). `unread` cycles of them are estimated,
  // because the schedule does not cover all of the program.
  double cycles = 0, unread = 0;
  double moved = 0;  // bytes moved between HBM and the cores
  std::vector<SentBytes> sent = {};
  double compile_seconds = 0;  // duration of the compilation, also if this is a cached result
  bool from_cache = false;
  // Returns the peak memory of a device: arguments, outputs that do not reuse an argument's memory,
  // temporaries and code.
  double bytes() const { return arguments + outputs - aliased + temporaries + code; }
};

// Compiles programs in parallel processes, with a cache.
class TpuCompiles {
 public:
  struct Limits {
    int max_processes = 0;                 // maximum number of processes; 0: by cores and memory
    std::chrono::seconds time_limit{600};  // time limit of each compilation
    std::string smelt = "/proc/self/exe";  // the program that has the command `compile`
    bool ignore_cache = false;             // compile again and replace cached results
  };
  using Done = std::function<void(std::size_t request, const Compiled& compiled)>;
  using Begun = std::function<void(std::size_t request)>;

  // `folder` is the cache; empty: no cache.
  TpuCompiles(std::string folder, Limits limits);
  explicit TpuCompiles(std::string folder) : TpuCompiles(std::move(folder), Limits()) {}

  // Returns the results in the order of the requests. Equal requests are compiled once. Calls
  // `begun` when a compilation starts (not for cached results) and `done` when a request is
  // finished, one call at a time. Failures are not cached.
  std::vector<Compiled> run(std::span<const CompileRequest> requests, const Done& done = {},
                            const Begun& begun = {}) const;

  // Returns the user's cache folder: smelt/plans in $XDG_CACHE_HOME, or in ~/.cache if that is not
  // an absolute path. Returns "" if the home folder is unknown too.
  static std::string user_cache_folder();

 private:
  Compiled cached_or_compiled(const CompileRequest& request,
                              const std::function<void()>& begin) const;
  Compiled compiled_now(const CompileRequest& request) const;

  std::string folder_;
  Limits limits_;
};

}  // namespace smelt::cost_model
