#include "distributed/identity.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/plural.h"
#include "distributed/socket.h"

namespace smelt::distributed {
namespace {

constexpr const char* kFlags = "the flags";
constexpr const char* kTpuVariables = "the TPU's variables";
constexpr const char* kTpuMetadata = "the TPU's metadata";
constexpr const char* kSlurm = "SLURM's variables";
constexpr const char* kLauncher = "a launcher's variables";
constexpr const char* kSayAll =
    "set --processes, --process and --hub, or --processes 1 for a single process";

constexpr std::int64_t kMostProcesses = 1'000'000;

std::int64_t number_of(const std::string& name, const std::string& text,
                       std::int64_t most = kMostProcesses) {
  std::int64_t out = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (fault != std::errc() || end != text.data() + text.size() || out < 0)
    throw UsageError(str("pod: ", name, " is '", text, "', expected a whole number"), kSayAll);
  if (out > most) throw UsageError(str("pod: ", name, " is ", text, ", above ", most), kSayAll);
  return out;
}

// Reads the values of one source and records which were found and which are missing.
class Asked {
 public:
  using Ask = std::function<std::string(const std::string& name)>;
  Asked(IdentitySource& source, Ask ask) : source_(source), ask_(std::move(ask)) {}

  // Returns "" if the value is not set.
  std::string maybe(const std::string& name) {
    std::string value(trim(ask_(name)));
    if (!value.empty()) source_.found.emplace_back(name, value);
    return value;
  }
  // Returns the value of the first of these names that is set. If none is, records the first as
  // missing.
  std::string text(const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (std::string value = maybe(name); !value.empty()) return value;
    source_.missing.push_back(names.front());
    return {};
  }
  std::optional<int> number(const std::vector<std::string>& names) {
    const std::string value = text(names);
    if (value.empty()) return std::nullopt;
    return static_cast<int>(number_of(source_.found.back().first, value));
  }
  bool misses_any() const { return !source_.missing.empty(); }
  void forget_missing() { source_.missing.clear(); }

 private:
  IdentitySource& source_;
  Ask ask_;
};

PodIdentity identity_at(const char* source, int rank, int size, const std::string& hub,
                        std::string incarnation = {}) {
  if (rank >= size)
    throw UsageError(
        str("pod: ", source, " give process ", rank, " of ", size, ", but the first is process 0"),
        "number the processes from 0");
  PodIdentity out;
  out.place.rank = rank;
  out.place.size = size;
  out.place.incarnation = std::move(incarnation);
  out.source = source;
  if (size > 1) out.place.address = text_of(parse_host_port("--hub", hub));
  return out;
}

// Runs `read` on a source with this name and returns what it found.
template <class Read>
IdentitySource source_of(const char* name, Asked::Ask ask, const Read& read) {
  IdentitySource out;
  out.name = name;
  Asked asked(out, std::move(ask));
  try {
    out.identity = read(asked);
    if (out.identity) out.missing.clear();
  } catch (const UsageError& error) {
    out.fault = error.what();
  }
  return out;
}

std::optional<PodIdentity> by_flags(Asked& asked) {
  const auto size = asked.number({"--processes"});
  if (size == 1) return identity_at(kFlags, 0, 1, "");
  const auto rank = asked.number({"--process"});
  const std::string hub = asked.text({"--hub"});
  if (asked.misses_any()) return std::nullopt;
  return identity_at(kFlags, *rank, *size, hub);
}

// Returns the hosts in "a,b", "a:8471,b:8471" or "name:id:10.0.0.2,…".
std::vector<std::string> hosts_in(const std::string& list) {
  std::vector<std::string> out;
  for (const std::string_view one : split(list, ',')) {
    const auto parts = split(trim(one), ':');
    out.emplace_back(trim(parts.size() >= 3 ? parts[2] : parts[0]));
  }
  return out;
}

// Numbers the processes of several slices consecutively, slice by slice.
std::optional<PodIdentity> with_slices(const char* source, Asked& asked, int rank,
                                       const std::vector<std::string>& hosts) {
  const auto size = static_cast<int>(hosts.size());
  const std::string slices_text = asked.maybe("MEGASCALE_NUM_SLICES");
  const int slices =
      slices_text.empty() ? 1 : static_cast<int>(number_of("MEGASCALE_NUM_SLICES", slices_text));
  if (slices <= 1) return identity_at(source, rank, size, hosts.front());
  const auto slice = asked.number({"MEGASCALE_SLICE_ID"});
  const std::string coordinator = asked.text({"MEGASCALE_COORDINATOR_ADDRESS"});
  if (asked.misses_any()) return std::nullopt;
  if (*slice >= slices)
    throw UsageError(str("pod: MEGASCALE_SLICE_ID is ", *slice,
                         ", must be less than MEGASCALE_NUM_SLICES, ", slices),
                     "number the slices from 0");
  PodIdentity out = identity_at(source, *slice * size + rank, slices * size,
                                parse_host_port("MEGASCALE_COORDINATOR_ADDRESS", coordinator).host);
  out.slice = *slice;
  out.slices = slices;
  return out;
}

std::optional<PodIdentity> by_tpu_variables(Asked& asked) {
  const std::string list = asked.text({"TPU_WORKER_HOSTNAMES", "TPU_PROCESS_ADDRESSES"});
  const auto rank = asked.number({"TPU_WORKER_ID", "CLOUD_TPU_TASK_ID"});
  const auto hosts = hosts_in(list);
  if (!list.empty() && hosts.size() == 1 && !rank) asked.forget_missing();
  if (asked.misses_any()) return std::nullopt;
  return with_slices(kTpuVariables, asked, rank.value_or(0), hosts);
}

std::optional<PodIdentity> by_metadata(Asked& asked) {
  const std::string list = asked.text({"worker-network-endpoints"});
  if (list.empty()) return std::nullopt;
  const auto rank = asked.number({"agent-worker-number"});
  const auto hosts = hosts_in(list);
  if (hosts.size() == 1 && !rank) asked.forget_missing();
  if (asked.misses_any()) return std::nullopt;
  return with_slices(kTpuMetadata, asked, rank.value_or(0), hosts);
}

// SLURM sets SLURM_STEP_NODELIST only for processes that srun started.
std::optional<PodIdentity> by_slurm(Asked& asked) {
  constexpr int kFirstPort = 61440, kPorts = 4096;
  const std::string nodes = asked.text({"SLURM_STEP_NODELIST"});
  if (nodes.empty()) return std::nullopt;
  const auto size = asked.number({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"});
  if (size == 1) return identity_at(kSlurm, 0, 1, "");
  const auto rank = asked.number({"SLURM_PROCID"});
  const std::string job = asked.text({"SLURM_JOB_ID"});
  if (asked.misses_any()) return std::nullopt;
  const int port =
      kFirstPort +
      static_cast<int>(number_of("SLURM_JOB_ID", job, std::numeric_limits<std::int64_t>::max()) %
                       kPorts);
  return identity_at(
      kSlurm, *rank, *size, str(first_node(nodes), ":", port),
      str(job, ".", asked.maybe("SLURM_STEP_ID"), ".", asked.maybe("SLURM_RESTART_COUNT")));
}

// Ignores MASTER_PORT, because the launcher itself listens on it. Uses the default port instead.
std::optional<PodIdentity> by_launcher(Asked& asked) {
  const auto size = asked.number({"WORLD_SIZE"});
  if (size == 1) return identity_at(kLauncher, 0, 1, "");
  const auto rank = asked.number({"RANK"});
  if (!size && !rank) return std::nullopt;
  const std::string hub = asked.text({"MASTER_ADDR"});
  if (asked.misses_any()) return std::nullopt;
  return identity_at(kLauncher, *rank, *size, hub, asked.maybe("TORCHELASTIC_RESTART_COUNT"));
}

// Parses lines of the form "NAME: 'value'".
std::map<std::string, std::string> tpu_env(const std::string& text) {
  std::map<std::string, std::string> out;
  for (const std::string_view line : split(text, '\n'))
    if (const std::size_t colon = line.find(':'); colon != line.npos) {
      std::string_view value = trim(line.substr(colon + 1));
      if (value.size() >= 2 && value.front() == '\'' && value.back() == '\'')
        value = value.substr(1, value.size() - 2);
      out[std::string(trim(line.substr(0, colon)))] = value;
    }
  return out;
}

// Returns a lookup by name. MEGASCALE_ names come from the environment or else from the "tpu-env"
// attribute, all others from the metadata attribute of that name.
Asked::Ask ask_metadata_of(const ProcessEnvironment& around) {
  auto more = std::make_shared<std::optional<std::map<std::string, std::string>>>();
  return [around, more](const std::string& name) -> std::string {
    if (!name.starts_with("MEGASCALE_")) return around.metadata(name).value_or("");
    if (std::string here = around.environment(name); !here.empty()) return here;
    if (!*more) *more = tpu_env(around.metadata("tpu-env").value_or(""));
    return (**more)[name];
  };
}

Asked::Ask ask_flags(const PodSettings& words) {
  const auto text = [](const std::optional<std::int64_t>& number) {
    return number ? str(*number) : std::string();
  };
  return [words, text](const std::string& name) {
    return name == "--processes" ? text(words.processes)
           : name == "--process" ? text(words.process)
                                 : words.hub;
  };
}

std::string said(const IdentitySource& source) {
  std::vector<std::string> out;
  for (const auto& [name, value] : source.found) out.push_back(str(name, " is ", value));
  return join(out, ", ");
}

[[noreturn]] void refuse_half(const IdentitySource& source) {
  throw UsageError(str("pod: ", said(source), ", but ", join(source.missing, " and "),
                       source.missing.size() == 1 ? " is" : " are", " not set"),
                   kSayAll);
}

void refuse_conflict(const IdentitySource& a, const IdentitySource& b) {
  const auto one = [](const IdentitySource& source) {
    return str(source.name, " give process ", source.identity->place.rank, " of ",
               source.identity->place.size);
  };
  throw UsageError(str("pod: ", one(a), ", but ", one(b)), kSayAll);
}

bool is_of_tpu(const IdentitySource& source) {
  return source.name == kTpuVariables || source.name == kTpuMetadata;
}

}  // namespace

std::string first_node(const std::string& list) {
  const std::size_t open = list.find('[');
  const std::size_t comma = list.find(',');
  if (open == list.npos || comma < open) return list.substr(0, comma);
  const std::string numbers = list.substr(open + 1, list.find(']') - open - 1);
  const std::string rest = list.substr(std::min(list.size(), list.find(']') + 1));
  return list.substr(0, open) + numbers.substr(0, numbers.find_first_of("-,")) + first_node(rest);
}

std::vector<IdentitySource> identity_sources(const PodSettings& words,
                                             const ProcessEnvironment& around) {
  std::vector<IdentitySource> out{source_of(kFlags, ask_flags(words), by_flags)};
  if (around.has_tpu) {
    out.push_back(source_of(kTpuVariables, around.environment, by_tpu_variables));
    if (!words.any() && out.back().found.empty() &&
        around.environment("TPU_SKIP_MDS_QUERY").empty())
      out.push_back(source_of(kTpuMetadata, ask_metadata_of(around), by_metadata));
  }
  if (!around.has_devices) return out;
  out.push_back(source_of(kSlurm, around.environment, by_slurm));
  out.push_back(source_of(kLauncher, around.environment, by_launcher));
  return out;
}

PodIdentity identity_of(const std::vector<IdentitySource>& sources) {
  const IdentitySource* chosen = nullptr;
  for (const IdentitySource& source : sources) {
    const bool by_flags = chosen != nullptr && chosen->name == kFlags;
    if (by_flags && !(is_of_tpu(source) && source.identity)) continue;
    if (!source.fault.empty()) throw UsageError(source.fault);
    if (source.is_half()) refuse_half(source);
    if (!source.identity) continue;
    const PodPlace& place = source.identity->place;
    if (chosen != nullptr && chosen->identity->several() && place.size > 1 &&
        (chosen->identity->place.size != place.size ||
         (!by_flags && chosen->identity->place.rank != place.rank)))
      refuse_conflict(*chosen, source);
    if (chosen == nullptr && (place.size > 1 || source.name == kFlags)) chosen = &source;
  }
  return chosen == nullptr ? PodIdentity() : *chosen->identity;
}

std::string identity_text(const PodIdentity& identity) {
  if (!identity.several()) return "one process alone";
  const std::string slice =
      identity.slices > 1 ? str(", slice ", identity.slice, " of ", identity.slices) : "";
  return str("process ", identity.place.rank, " of ", identity.place.size, slice, ", rank 0 at ",
             identity.place.address, ", from ", identity.source);
}

}  // namespace smelt::distributed
