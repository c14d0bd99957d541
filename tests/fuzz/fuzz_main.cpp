// The main loop of a fuzz driver: mutates inputs at random and keeps those that reach new code (in
// preset asan, where gcc's -fsanitize-coverage=trace-pc reports it). The same seed gives the same
// inputs. An input that is a finding is written to fuzz-finding.bin; to run it again, give this
// file as an argument.
//   fuzz_NAME [--runs N | --seconds N] [--seed S] [FILE...]
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "base/log.h"
#include "base/str.h"
#include "fuzz/memory.h"
#include "fuzz/mutate.h"
#include "fuzz/target.h"

// Defined only with the address sanitizer.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

constexpr unsigned kHangSeconds = 60;

// Pairs of basic blocks that have been executed one after the other.
std::array<bool, 1 << 16> seen_edges;
std::uintptr_t last_block = 0;
bool new_edge = false;
const std::string* current_input = nullptr;

void write_finding() {
  if (current_input == nullptr) return;
  std::ofstream("fuzz-finding.bin", std::ios::binary) << *current_input;
  std::cerr << "the input is in fuzz-finding.bin\n";
}

void on_hang(int) {
  std::cerr << "a run takes more than " << kHangSeconds << " s\n";
  write_finding();
  std::_Exit(1);
}

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  // The address is relative to the program, which is loaded at another address each time.
  const auto block = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                     reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc);
  const std::size_t edge = (block ^ last_block) % seen_edges.size();
  last_block = block >> 1;
  if (!seen_edges[edge]) seen_edges[edge] = new_edge = true;
}

namespace smelt {
namespace {

struct Options {
  std::uint64_t runs = 0, seconds = 0, seed = 1;
  std::vector<std::string> files;
};

Options parse_options(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    std::uint64_t* const value = name == "--runs"      ? &out.runs
                                 : name == "--seconds" ? &out.seconds
                                 : name == "--seed"    ? &out.seed
                                                       : nullptr;
    if (value == nullptr)
      out.files.emplace_back(name);
    else if (++i < argc)
      *value = std::strtoull(argv[i], nullptr, 10);
  }
  return out;
}

// Returns whether the input reached new code. Ends the program if the input is a finding.
bool run_one(const std::string& input, const FuzzTarget& target) {
  // A separate allocation, in which the sanitizer detects a read beyond the end.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  current_input = &input;
  new_edge = false;
  last_block = 0;
  ::alarm(kHangSeconds);
  watch_memory();
  try {
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  } catch (const std::exception& error) {
    std::cerr << "an input of " << input.size() << " bytes throws: " << error.what() << "\n";
    write_finding();
    std::exit(1);
  }
  const std::size_t peak = peak_allocated(),
                    allowed = target.memory_base + target.memory_factor * input.size();
  if (peak > allowed) {
    std::cerr << "an input of " << input.size() << " bytes takes " << peak << " bytes of memory, "
              << allowed << " are allowed\n";
    write_finding();
    std::exit(1);
  }
  current_input = nullptr;
  return new_edge;
}

// Valid inputs and the newest inputs are drawn more often than the others.
std::size_t draw_parent(Mutator& mutator, std::size_t right, std::size_t all) {
  constexpr std::size_t kNewest = 16;
  switch (mutator.below(3)) {
    case 0:
      return mutator.below(right);
    case 1:
      return all - 1 - mutator.below(std::min(all, kNewest));
    default:
      return mutator.below(all);
  }
}

void fuzz(const Options& options, const FuzzTarget& target) {
  std::vector<std::string> inputs{""};
  for (const std::string& seed : target.seeds) inputs.push_back(seed);
  for (const std::string& input : inputs) run_one(input, target);
  Mutator mutator(options.seed, target.words);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(options.seconds);
  std::uint64_t run = 0;
  for (; options.runs > 0 ? run < options.runs : std::chrono::steady_clock::now() < end; ++run) {
    std::string input =
        mutator.mutate(inputs[draw_parent(mutator, target.seeds.size() + 1, inputs.size())],
                       inputs[mutator.below(inputs.size())]);
    if (target.repair && mutator.below(4) != 0) target.repair(input);
    if (run_one(input, target)) inputs.push_back(std::move(input));
  }
  std::cout << run << " runs, " << inputs.size() << " inputs kept, "
            << std::count(seen_edges.begin(), seen_edges.end(), true) << " edges, no finding\n";
}

}  // namespace

const std::string& input_file(const std::uint8_t* data, std::size_t size,
                              const std::string& suffix) {
  struct File {
    explicit File(const std::string& end)
        : path(str(std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp", "/smelt-fuzz-",
                   ::getpid(), end)) {}
    ~File() { ::unlink(path.c_str()); }
    std::string path;
  };
  static std::map<std::string, File> files;
  const File& file = files.try_emplace(suffix, suffix).first->second;
  std::ofstream(file.path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return file.path;
}

}  // namespace smelt

int main(int argc, char** argv) {
  const auto options = smelt::parse_options(argc, argv);
  smelt::set_log_level(smelt::LogLevel::off);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(write_finding);
  ::signal(SIGALRM, on_hang);
  const smelt::FuzzTarget target = smelt::fuzz_target();
  for (const std::string& path : options.files) {
    std::ifstream file(path, std::ios::binary);
    smelt::run_one({std::istreambuf_iterator<char>(file), {}}, target);
  }
  if (options.files.empty()) smelt::fuzz(options, target);
}
