#include "io/filesystem/lock_owner.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/plural.h"
#include "base/str.h"

namespace smelt::io {
namespace {

constexpr std::size_t kCommand = 80;  // maximum number of characters

// Reads a file of the proc filesystem, whose files have no size; empty if it does not exist.
std::string proc_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns a name for this boot of the machine and this process namespace. Process ids can only be
// compared if these are equal.
std::string this_machine(const std::string& host) {
  std::error_code none;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", none);
  return str(host, ",", trim(proc_text("/proc/sys/kernel/random/boot_id")), ",", space.string());
}

// Returns the start time of a process in clock ticks since the boot: field 22 of /proc/PID/stat, of
// which field 2 may contain spaces.
std::string start_of_process(int process) {
  const std::string stat = proc_text(str("/proc/", process, "/stat"));
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return "";
  const auto fields = split(std::string_view(stat).substr(name_end + 1), ' ');
  return fields.size() > 20 ? std::string(fields[20]) : "";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string command_line() {
  std::string command = proc_text("/proc/self/cmdline");
  std::ranges::replace_if(command, [](unsigned char c) { return c < ' '; }, ' ');
  return shortened(trim(command), kCommand);
}

}  // namespace

LockOwner LockOwner::this_process() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  ::gethostname(host.data(), host.size() - 1);
  const int process = ::getpid();
  return {.words = str("process ", process, " on host ", host.data(), " since ", utc_now(), ": ",
                       command_line()),
          .machine = this_machine(host.data()),
          .process = process,
          .started = start_of_process(process)};
}

LockOwner LockOwner::parse(std::string_view text) {
  LockOwner out;
  const auto lines = split(text, '\n');
  out.words = trim(lines.front());
  if (out.words.empty()) out.words = "another process";
  if (lines.size() < 4) return out;
  const std::string_view number = lines[2];
  std::from_chars(number.data(), number.data() + number.size(), out.process);
  out.machine = lines[1];
  out.started = lines[3];
  return out;
}

std::string LockOwner::text() const {
  return str(words, "\n", machine, "\n", process, "\n", started, "\n");
}

bool LockOwner::is_of_this_machine() const {
  const LockOwner mine = this_process();
  return process > 0 && !started.empty() && !mine.started.empty() && machine == mine.machine;
}

bool LockOwner::has_ended() const {
  return is_of_this_machine() && start_of_process(process) != started;
}

}  // namespace smelt::io
