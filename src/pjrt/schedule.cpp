#include "pjrt/schedule.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "io/filesystem/file.h"
#include "pjrt/device_specs.h"

namespace smelt::pjrt {
namespace {

constexpr std::size_t kBundles = 0,  // index of the bundle count in Counts; matrix units follow
    kMatrixUnits = 8;
using Counts = std::array<double, 1 + kMatrixUnits>;

// A loop in the bundle text.
struct BundleLoop {
  Counts counts{};  // per iteration
  double iterations = 1;
};

// One line of the bundle text: a VLIW instruction bundle.
struct Bundle {
  std::string_view label;  // "LB" if a loop body begins here
  std::size_t depth = 0;   // number of enclosing loops
  bool empty = false;      // an empty bundle has no valid depth
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::size_t end_of(std::string_view line, std::size_t at, auto&& in) {
  while (at < line.size() && in(line[at])) ++at;
  return at;
}

// Parses a line such as "  0x7 LB: > { … }". Returns nullopt for other lines.
std::optional<Bundle> bundle_of(std::string_view line) {
  const auto space = [](char c) { return c == ' '; };
  const std::size_t number = end_of(line, 0, space);
  std::size_t at = end_of(line, number, is_word);
  if (at == number || line[number] != '0' || at == line.size() || !space(line[at])) return {};
  at = end_of(line, at, space);
  Bundle out;
  if (at + 2 < line.size() && is_word(line[at]) && is_word(line[at + 1]) && line[at + 2] == ':') {
    out.label = line.substr(at, 2);
    at = end_of(line, at + 3, space);
  }
  if (at < line.size() && line[at] == ':') ++at;
  for (at = end_of(line, at, space); at < line.size() && line[at] == '>';
       at = end_of(line, at + 1, space))
    ++out.depth;
  if (at == line.size() || line[at] != '{') return {};
  std::string_view rest = line.substr(at + 1);
  if (const std::size_t vnop = rest.find(" = vnop"); vnop < 12) rest.remove_prefix(vnop + 7);
  const std::size_t close = end_of(rest, 0, space);
  out.empty = close < rest.size() && rest[close] == '}';
  return out;
}

// Parses the iteration count of a loop exit test: 12 in "scmp.ge.s32.totalorder %s7, 12 /* loop
// exit test */".
std::optional<double> iterations_in(std::string_view line) {
  const std::size_t at = line.find(" /* loop exit test");
  if (at == line.npos) return {};
  std::size_t begin = at;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0) --begin;
  std::int64_t count = 0;
  const auto read = std::from_chars(line.data() + begin, line.data() + at, count);
  return read.ptr == line.data() + at && begin < at ? std::optional(static_cast<double>(count))
                                                    : std::nullopt;
}

void add_matmuls(std::string_view line, Counts& out) {
  constexpr std::string_view kMatmul = "= vmatmul", kUnit = ".mxu";
  for (std::size_t at = line.find(kMatmul); at != line.npos; at = line.find(kMatmul, at)) {
    at += kMatmul.size();
    const std::string_view kind =
        line.substr(at, end_of(line, at, [](char c) { return is_word(c) || c == '.'; }) - at);
    const std::size_t unit = kind.rfind(kUnit);
    if (unit == kind.npos || unit + kUnit.size() >= kind.size()) continue;
    const auto number = static_cast<std::size_t>(kind[unit + kUnit.size()] - '0');
    if (number < kMatrixUnits) out[1 + number] += kind.starts_with(".bf16") ? 16 : 8;
  }
}

void leave_loop(std::vector<BundleLoop>& loops) {
  const BundleLoop inner = loops.back();
  loops.pop_back();
  for (std::size_t i = 0; i < inner.counts.size(); ++i)
    loops.back().counts[i] += inner.counts[i] * inner.iterations;
}

}  // namespace

double scheduled_cycles(std::string_view bundles) {
  std::vector<BundleLoop> loops(1);
  for (std::size_t begin = 0; begin < bundles.size();) {
    const std::size_t end = std::min(bundles.find('\n', begin), bundles.size());
    const std::string_view line = bundles.substr(begin, end - begin);
    begin = end + 1;
    const auto bundle = bundle_of(line);
    if (!bundle) continue;
    const std::size_t depth = bundle->empty ? loops.size() - 1 : bundle->depth;
    while (loops.size() - 1 > depth ||
           (bundle->label == "LB" && depth > 0 && depth == loops.size() - 1))
      leave_loop(loops);
    while (loops.size() - 1 < depth) loops.emplace_back();
    loops.back().counts[kBundles] += 1;
    add_matmuls(line, loops.back().counts);
    if (const auto count = iterations_in(line)) loops.back().iterations = *count;
  }
  while (loops.size() > 1) leave_loop(loops);
  return *std::ranges::max_element(loops.front().counts);
}

ScheduleDump::ScheduleDump() {
  std::string path = std::filesystem::temp_directory_path() / "smelt-schedule-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw_errno("make folder", path, errno);
  folder_ = path;
  const char* current = std::getenv("LIBTPU_INIT_ARGS");
  const std::string options =
      str(current == nullptr ? "" : current, " --xla_jf_dump_to=", folder_,
          " --xla_jf_dump_llo_text=true --xla_jf_dump_llo_pass_label_regex=final_bundles");
  ::setenv("LIBTPU_INIT_ARGS", options.c_str(), 1);
}

ScheduleDump::~ScheduleDump() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::map<std::string, double> ScheduleDump::kernels() const {
  constexpr std::string_view kEnd = "-final_bundles.txt";
  std::map<std::string, double> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    // "1795579320672223343-fusion.1-01-final_bundles.txt"
    const std::string file = entry.path().filename();
    if (!file.ends_with(kEnd) || file.find("schedule-analysis") != file.npos) continue;
    const std::size_t begin = file.find('-') + 1;
    const std::size_t end = file.rfind('-', file.size() - kEnd.size() - 1);
    if (end != file.npos && end > begin)
      out[file.substr(begin, end - begin)] = scheduled_cycles(io::read_file(entry.path()));
  }
  return out;
}

void add_schedule(StepCycles& cycles, const std::map<std::string, double>& kernels,
                  std::string_view device_kind) {
  const double seconds = seconds_of(1, device_kind), hbm = hbm_bytes_per_second(device_kind);
  std::map<double, double> alike;  // scheduled by estimated cycles, both per run
  for (const InstructionCycles& i : cycles.instructions)
    if (const auto found = kernels.find(i.name); found != kernels.end())
      alike.emplace(i.cycles / i.runs, found->second);
  for (InstructionCycles& i : cycles.instructions) {
    const auto own = kernels.find(i.name);
    const auto same = alike.find(i.cycles / i.runs);
    if (own == kernels.end() && same == alike.end()) {
      i.scheduled = i.cycles;
      cycles.unread += i.cycles;
    } else {
      const double moving = hbm == 0 ? 0 : i.hbm_bytes / (hbm * seconds);
      i.scheduled = std::max(i.runs * (own == kernels.end() ? same->second : own->second), moving);
    }
    cycles.scheduled += i.scheduled;
  }
  std::ranges::stable_sort(cycles.instructions, std::ranges::greater(),
                           &InstructionCycles::scheduled);
}

}  // namespace smelt::pjrt
