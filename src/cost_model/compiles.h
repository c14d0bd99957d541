// Programs compiled for TPUs that are not here, each by a process of its own: side by side, with a
// limit of time, kept by what they were made from. One that fails or dies takes no other with it.
#pragma once

#include <chrono>
#include <compare>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace smelt {

// A program to compile: StableHLO text, for the devices of a topology by libtpu's name.
struct CompileRequest {
  std::string program, topology;
  auto operator<=>(const CompileRequest&) const = default;
};

enum class CompileEnd { fits, does_not_fit, failed };

// What a device sends to others along axes of the mesh: bytes of all-reduces, of all else, and of
// these what goes beside other work.
struct SentBytes {
  std::string axes;  // "data", "fsdp+tensor"
  double all_reduce = 0, other = 0, asynchronous_all_reduce = 0, asynchronous_other = 0;
};

// What libtpu says of one device's part.
struct Compiled {
  CompileEnd end = CompileEnd::failed;
  std::string problem;  // unless it fits: libtpu's own figures, or why there are none
  double arguments = 0, outputs = 0, aliased = 0, temporaries = 0, code = 0;  // bytes
  // Cycles by the compiler's schedule (pjrt/schedule.h), and of these what has none and is
  // estimated.
  double cycles = 0, unread = 0;
  double moved = 0;  // bytes between the large memory and the cores
  std::vector<SentBytes> sent = {};
  double compile_seconds = 0;  // of the process; of a kept one, at its time
  bool kept = false;
  // What a device must hold at once: arguments and results that do not lie in their place,
  // temporaries, code.
  double bytes() const { return arguments + outputs - aliased + temporaries + code; }
};

class TpuCompiles {
 public:
  struct Limits {
    int side_by_side = 0;  // processes at a time; 0: by cores and memory
    std::chrono::seconds each{600};
    std::string smelt = "/proc/self/exe";  // the program whose command `compile` does it
    bool again = false;                    // what is kept is not read, but replaced
  };
  using Done = std::function<void(std::size_t request, const Compiled& compiled)>;
  using Begun = std::function<void(std::size_t request)>;

  // `folder`: for results to keep; empty: none are.
  TpuCompiles(std::string folder, Limits limits);
  explicit TpuCompiles(std::string folder) : TpuCompiles(std::move(folder), Limits()) {}

  // Returns the results in the order of the requests. Equal requests are compiled once. Calls
  // `begun` when a compilation starts, unless its result was kept, and `done` for each request as
  // it ends; one call at a time. A failure is not kept.
  std::vector<Compiled> run(std::span<const CompileRequest> requests, const Done& done = {},
                            const Begun& begun = {}) const;

  // smelt/plans in $XDG_CACHE_HOME or ~/.cache; empty where there is none of these.
  static std::string users_folder();

 private:
  Compiled kept_or_made(const CompileRequest& request, const std::function<void()>& begin) const;
  Compiled made(const CompileRequest& request) const;

  std::string folder_;
  Limits limits_;
};

}  // namespace smelt
