#include "base/machine.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/parallel.h"
#include "base/str.h"

namespace smelt {
namespace {

// AVX-512 with and without int8 dot products, AMX, AVX2, and Arm's extensions.
constexpr std::array kExtensions{"avx2",     "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16",
                                 "amx_int8", "amx_bf16", "asimddp", "i8mm",        "bf16"};

// Returns the text after the colon of the first line that begins with one of these names.
std::string line_of(const char* file, std::initializer_list<std::string_view> names) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    for (const std::string_view name : names)
      if (line.starts_with(name))
        if (const auto colon = line.find(':'); colon != std::string::npos)
          return std::string(trim(std::string_view(line).substr(colon + 1)));
  return {};
}

}  // namespace

MachineFacts machine_facts() {
  constexpr const char* kFile = "/proc/cpuinfo";
  MachineFacts out{.processor = line_of(kFile, {"model name"}),
                   .extensions = {},
                   .threads = available_threads()};
  std::istringstream said(line_of(kFile, {"flags", "Features"}));
  std::string all = " ";
  for (std::string one; said >> one;) all += one + " ";
  for (const char* one : kExtensions)
    if (all.find(str(" ", one, " ")) != std::string::npos) out.extensions.emplace_back(one);
  return out;
}

double machine_load() {
  double load = -1;
  return std::ifstream("/proc/loadavg") >> load ? load : -1;
}

double machine_memory() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

std::uint64_t peak_memory() {
  return std::strtoull(line_of("/proc/self/status", {"VmHWM"}).c_str(), nullptr, 10) * 1024;
}

}  // namespace smelt
