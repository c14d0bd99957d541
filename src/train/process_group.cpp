#include "train/process_group.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "io/filesystem/file.h"
#include "io/filesystem/folder.h"
#include "io/filesystem/path.h"
#include "io/formats/crc32c.h"
#include "io/formats/json_difference.h"
#include "pjrt/client.h"

namespace smelt::train {
namespace {

constexpr double kSeenSeconds = 30;  // a network file system may show new files late
constexpr std::string_view kMark = ".pod-";
constexpr char kWord = '=', kUser = 'u', kSystem = 's', kStopped = 'p';

[[noreturn]] void throw_told(std::string_view said) {
  const auto [what, hint] = error_parts(said.substr(1));
  if (said.front() == kUser) throw UsageError(what, hint);
  if (said.front() == kStopped) throw Stopped(what, hint);
  throw SystemError(what, hint);
}

// Returns `nonce` if the file of that name does not appear in the folder in time, else "".
std::string unseen(const std::string& folder, const std::string& nonce) {
  const auto begin = Clock::now();
  while (!io::exists(io::join_path(folder, nonce))) {
    if (seconds_since(begin) > kSeenSeconds) return nonce;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return "";
}

// Removes marker files that an aborted run may have left (see require_one_folder()).
void remove_marks(const std::string& folder) {
  for (const std::string& name : io::list_folder(folder))
    if (name.starts_with(kMark) &&
        name.find_first_not_of("0123456789abcdef", kMark.size()) == std::string::npos)
      io::remove_file(io::join_path(folder, name));
}

// Returns the timeout for a key, by its first component.
distributed::PodTimes::Span time_of(const std::string& key, const distributed::PodTimes& times) {
  const std::string what = key.substr(0, key.find('/'));
  if (what == "save") return times.commit;
  if (what == "resume" || what == "rewind") return times.restore;
  if (what == "end") return times.exit;
  if (what == "alone") return times.alone;
  return times.programs;
}

std::shared_ptr<distributed::CoordinationService>
    pod;  // process group of this process; null: a single process
int runs_together = 0;

}  // namespace

ProcessGroup process_group_of(distributed::CoordinationService& hub, const std::string& prefix) {
  return {.rank = hub.rank(),
          .size = hub.size(),
          .gather =
              [&hub, prefix](const std::string& key, const std::string& payload) {
                hub.beat(key);
                return hub.gather(prefix + key, payload, time_of(key, hub.times()));
              },
          .set_status = [&hub](const std::string& what) { hub.beat(what); },
          .end_all =
              [&hub](const std::string& message) {
                hub.abort(message, kPodExit);
                std::_Exit(kPodExit);
              }};
}

ProcessGroupScope::ProcessGroupScope(std::shared_ptr<distributed::CoordinationService> hub) {
  CHECK(pod == nullptr);
  pjrt::KeyValueStore store{
      .get = [hub](const std::string& key,
                   std::chrono::milliseconds timeout) { return hub->get(key, timeout); },
      .try_get = [hub](const std::string& key) { return hub->try_get(key); },
      .put = [hub](const std::string& key,
                   const std::string& value) { return hub->put(key, value); }};
  pjrt::join_processes({.index = hub->rank(),
                        .count = hub->size(),
                        .store = std::make_shared<const pjrt::KeyValueStore>(std::move(store))});
  pod = std::move(hub);
}

ProcessGroupScope::~ProcessGroupScope() {
  pjrt::join_processes({});
  pod.reset();
}

ProcessGroup current_process_group(const std::string& what) {
  if (pod == nullptr) return {};
  return process_group_of(*pod, str(what, "/", ++runs_together, "/"));
}

bool is_rank_zero() { return pod == nullptr || pod->rank() == 0; }

std::int64_t local_inference_devices(std::int64_t devices) { return pod == nullptr ? devices : 1; }

void require_single_process(const std::string& what) {
  if (pod == nullptr) return;
  throw UsageError(str(what, " runs in one process only, but there are ", pod->size()),
                   "start it in one process, with --processes 1");
}

ProcessGroup ProcessGroup::for_attempt(std::size_t number) const {
  ProcessGroup out = *this;
  if (several())
    out.gather = [first = gather, end = str("/try-", number)](const std::string& key,
                                                              const std::string& payload) {
      return first(key + end, payload);
    };
  return out;
}

std::string ProcessGroup::broadcast(const std::string& key,
                                    const std::function<std::string()>& say) const {
  if (!several()) return say();
  std::string mine;
  set_status(key);
  if (leads()) try {
      mine = kWord + say();
    } catch (const UsageError& error) {
      mine = str(kUser, error.what());
    } catch (const Stopped& stopped) {
      mine = str(kStopped, stopped.what());
    } catch (const SystemError& error) {
      mine = str(kSystem, error.what());
    }
  const std::string said = gather(key, mine).at(0);
  CHECK(!said.empty(), key);
  if (said.front() != kWord) throw_told(said);
  return said.substr(1);
}

void ProcessGroup::require_equal(const std::string& key, std::string_view what, const Json& value,
                                 std::string_view hint) const {
  if (!several()) return;
  const auto replace = JsonInvalidUtf8::replace;
  std::optional<Json> first;
  int rank = 0;
  for (const std::string& text : gather(key, value.dump(-1, ' ', false, replace))) {
    const auto here = Json::parse(text);
    if (!first)
      first = here;
    else if (const auto other = io::first_difference(*first, here))
      throw UsageError(str(what, ": ", other->name, other->name.empty() ? "" : " is ",
                           other->was.dump(), " on host 0, ", other->is.dump(), " on host ", rank),
                       hint);
    ++rank;
  }
}

void ProcessGroup::require_one_folder(const std::string& folder) const {
  if (leads()) remove_marks(folder);
  if (!several()) return;
  const auto now = Clock::now().time_since_epoch().count();
  const std::string nonce = broadcast("folder", [&] {
    const std::string name = str(kMark, io::hex_text(io::crc32c(str(folder, " ", now))));
    io::write_file(io::join_path(folder, name), "");
    return name;
  });
  const auto all = gather("folder/seen", unseen(folder, nonce));
  if (leads()) io::remove_file(io::join_path(folder, nonce));
  for (std::size_t host = 0; host < all.size(); ++host)
    if (!all[host].empty())
      throw UsageError(
          str("train: host ", host, " does not see a file that host 0 wrote to ", folder, " ",
              kSeenSeconds, " s ago"),
          "use a folder that all hosts share: gs://…, s3://… or a network file system");
}

void ProcessGroup::run_on_rank_zero(const std::string& key,
                                    const std::function<void()>& work) const {
  (void)broadcast(key, [&] {
    work();
    return std::string();
  });
}

void ProcessGroup::barrier(const std::string& key) const {
  if (several()) gather(key, "");
}

bool ProcessGroup::any(const std::string& key, bool mine) const {
  if (!several()) return mine;
  return std::ranges::any_of(gather(key, mine ? "1" : ""),
                             [](const std::string& other) { return !other.empty(); });
}

}  // namespace smelt::train
