#include "cli/options/pod_flags.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/stop_notice.h"
#include "cli/options/ending.h"
#include "cli/options/number_check.h"
#include "io/filesystem/metadata_server.h"
#include "io/filesystem/random_access_file.h"
#include "io/formats/crc32c.h"
#include "pjrt/hardware.h"
#include "pjrt/plugin.h"
#include "train/process_group.h"

namespace smelt::cli {
namespace {

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

// Returns nullopt on machines outside Google Cloud. A busy metadata server is an error: if it were
// ignored, a host of a multi-host slice would train alone.
std::optional<std::string> attribute(const std::string& name) try {
  return io::metadata_server_value("instance/attributes/" + name, std::chrono::seconds(15));
} catch (const SystemError&) {
  throw UsageError(str("pod: the metadata server does not return ", name),
                   "run the command again, or set --processes, --process and --hub; "
                   "--processes 1 trains on this host alone");
}

// Returns the CRC-32C of the running executable, or "" if it cannot be read. All processes must run
// the same program: different ones may build different models from the same recipe.
std::string checksum_of_program() try {
  const io::RandomAccessFile file("/proc/self/exe");
  std::vector<char> block(std::size_t{1} << 20);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < file.size(); at += block.size()) {
    const auto count = std::min<std::uint64_t>(block.size(), file.size() - at);
    file.read_at(at, {block.data(), count});
    crc = io::crc32c({block.data(), count}, crc);
  }
  return io::hex_text(crc);
} catch (const Error&) {
  return "";  // nothing to compare
}

class Member {
 public:
  explicit Member(const distributed::PodIdentity& identity)
      : hub_(distributed::CoordinationService::connect(
            identity.place, {{"the program, by its crc32c", checksum_of_program()}},
            {.times = pod_times_of(variable), .secret = variable(kSecret)})) {
    if (hub_->rank() > 0) quiet_.emplace(str("host ", hub_->rank()));
  }

  void run(const std::function<void()>& work) {
    try {
      const train::ProcessGroupScope together(hub_);
      work();
    } catch (...) {
      end_by(std::current_exception());
    }
    hub_->bye();
  }

 private:
  static constexpr const char* kSecret = "SMELT_POD_SECRET";

  [[noreturn]] void end_by(const std::exception_ptr& fault) {
    const Ending ending = ending_of(fault);
    if (ending.code == kStoppedExit)
      hub_->bye();  // all processes stop at the same step
    else
      hub_->abort(ending.text, ending.code);
    if (!quiet_ && ending.code != kPodExit) std::rethrow_exception(fault);
    if (ending.code != kStoppedExit) log_error("{}", ending.text);  // the line names this host
    throw ExitStatus(ending.code);
  }

  std::shared_ptr<distributed::CoordinationService> hub_;
  std::optional<ErrorsOnly> quiet_;
};

}  // namespace

bool is_lost_peer(const pjrt::PjrtError& error) {
  constexpr std::array kCodes{1, 4, 10, 14};
  const std::string_view text = error.what();
  const auto says = [&](std::string_view words) { return text.find(words) != text.npos; };
  if (says("already in use") || says("lockfile")) return false;
  return std::ranges::find(kCodes, static_cast<int>(error.code())) != kCodes.end();
}

void add_pod_flags(CLI::App& command, distributed::PodSettings& words) {
  command
      .add_option(
          "--processes", words.processes,
          "number of processes that train this model together, one per host; default: from the TPU "
          "metadata, SLURM or the launcher's environment (see smelt pod describe), else 1")
      ->check(number_from(1, 1e6));
  command.add_option("--process", words.process, "rank of this process, from 0")
      ->check(number_from(0, 1e6));
  command.add_option("--hub", words.hub,
                     "HOST:PORT of process 0, to which the other processes connect");
}

distributed::ProcessEnvironment surroundings_of(const std::string& device) {
  const bool tpu = device == "tpu" || (device == "auto" && pjrt::is_here("tpu"));
  const bool gpu = device == "gpu" || (device == "auto" && !tpu && pjrt::is_here("gpu"));
  return {
      .environment = variable, .metadata = attribute, .has_tpu = tpu, .has_devices = tpu || gpu};
}

distributed::PodTimes pod_times_of(
    const std::function<std::string(const std::string& variable)>& environment) {
  distributed::PodTimes out;
  const auto read = [&](const char* name, distributed::PodTimes::Span& time) {
    const std::string said = environment(name);
    if (said.empty()) return;
    char* end = nullptr;
    const double seconds = std::strtod(said.c_str(), &end);
    if (*end != '\0' || !(seconds >= 0.1 && seconds <= 1e6))
      throw UsageError(str(name, ": '", said, "' is not a number of seconds from 0.1 to 1000000"),
                       str("unset ", name));
    time = distributed::PodTimes::Span(static_cast<std::int64_t>(1000 * seconds));
  };
  read("SMELT_POD_CONNECT", out.connect);
  read("SMELT_POD_SILENCE", out.silence);
  out.beat = std::min(out.beat, out.silence / 8);
  // A restarted process waits until the hub has noticed that its predecessor is gone.
  const distributed::PodTimes::Span longer =
      std::max(out.silence - distributed::PodTimes().silence, distributed::PodTimes::Span(0));
  out.taken += longer;
  if (environment("SMELT_POD_CONNECT").empty()) out.connect += longer;
  return out;
}

void run_in_pod(const distributed::PodSettings& words, const std::function<std::string()>& device,
                const std::function<void()>& work) {
  std::string meant = "auto";
  std::exception_ptr fault;
  try {
    meant = device();
  } catch (const Error&) {
    fault = std::current_exception();  // reported to the other processes below
  }
  const distributed::PodIdentity identity =
      distributed::identity_of(distributed::identity_sources(words, surroundings_of(meant)));
  if (!identity.several()) {
    if (fault) std::rethrow_exception(fault);
    return work();
  }
  log_info("pod: {}", distributed::identity_text(identity));
  Member(identity).run([&] {
    if (fault) std::rethrow_exception(fault);
    work();
  });
}

}  // namespace smelt::cli
