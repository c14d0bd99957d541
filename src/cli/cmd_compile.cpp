#include "cli/cmd_compile.h"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/clock.h"
#include "base/error.h"
#include "base/figures.h"
#include "base/progress.h"
#include "base/words.h"
#include "console/number_check.h"
#include "runtime/device_memory.h"
#include "runtime/step_cycles.h"
#include "runtime/topology.h"
#include "state/compiled_step.h"
#include "store/file.h"

namespace smelt {
namespace {

struct CompileCommand {
  std::string program, topology;
  std::int64_t top = 0;
  bool json = false;
};

// "mhlo.num_partitions = 32" in the module's head; 1 where it says nothing.
int module_count(const std::string& text, const std::string& name) {
  const std::string head = text.substr(0, text.find("func.func"));
  std::smatch found;
  const bool given =
      std::regex_search(head, found, std::regex("mhlo\\." + name + " = (\\d{1,6}) "));
  return given ? std::stoi(found[1]) : 1;
}

// libtpu ends the process for some names that it does not know.
void check_topology(const std::string& name) {
  std::smatch found;
  const bool fits = std::regex_match(
      name, found,
      std::regex("(v[0-9]+[a-z]*):([1-9][0-9]{0,2})x([1-9][0-9]{0,2})(x[1-9][0-9]{0,2})?"));
  static const std::map<std::string, int> flat{{"v2", 16}, {"v3", 32}, {"v5e", 16}, {"v6e", 16}};
  const auto most = flat.find(fits ? found[1].str() : "");
  if (fits && (most == flat.end() || (!found[4].matched && std::stoi(found[2]) <= most->second &&
                                      std::stoi(found[3]) <= most->second)))
    return;
  throw UsageError(str("--topology '", name, "' is no slice of TPUs"),
                   "give chips by libtpu's name, e.g. v2:4x4, v3:2x2, v4:2x2x1, v5e:2x4");
}

Topology topology_of(const std::string& name) {
  check_topology(name);
  try {
    return Topology::tpu(name);
  } catch (const PjrtError& error) {
    throw UsageError(str("--topology ", name, ": ", error.what()),
                     "give chips by libtpu's name, e.g. v2:4x4, v3:2x2, v5e:2x4");
  }
}

CompiledProgram compiled_for(const Topology& topology, const CompileCommand& c,
                             const std::string& text, const CompileOptions& options) {
  try {
    return topology.compile(text, options);
  } catch (const PjrtError& error) {
    if (error.code() == pjrt::ErrorCode::resource_exhausted)
      throw_does_not_fit(error, advice_for_training(str(c.program, " on ", c.topology), flag));
    // What follows the first line is of programs of other versions, or the program itself.
    const std::string problem = error.what();
    throw UsageError(str(c.program, ": ", problem.substr(0, problem.find('\n'))),
                     "give StableHLO text, as smelt bench --emit writes it");
  }
}

nlohmann::json cycles_json(const StepCycles& cycles, std::int64_t top) {
  nlohmann::json out{{"cycles", cycles.total},
                     {"top", nlohmann::json::array()},
                     {"collectives", nlohmann::json::object()}};
  std::map<std::string, std::pair<double, double>> told;  // all bytes, those beside other work
  for (const CollectiveBytes& c : cycles.collectives) {
    told[c.opcode].first += c.bytes;
    if (c.asynchronous) told[c.opcode].second += c.bytes;
  }
  for (const auto& [opcode, bytes] : told)
    out["collectives"][opcode] = {{"bytes", bytes.first}, {"asynchronous_bytes", bytes.second}};
  for (const InstructionCycles& i : cycles.instructions) {
    if (std::ssize(out["top"]) == top) break;
    out["top"].push_back({{"name", i.name},
                          {"op_name", i.op_name},
                          {"cycles", i.cycles},
                          {"turns", i.turns},
                          {"bytes", i.bytes}});
  }
  return out;
}

nlohmann::json compile_program(const CompileCommand& c) {
  const std::string text = read_file(c.program);
  CompileOptions options;
  options.num_partitions = module_count(text, "num_partitions");
  options.num_replicas = module_count(text, "num_replicas");
  const Topology topology = topology_of(c.topology);
  const int wanted = options.num_partitions * options.num_replicas;
  if (wanted > topology.device_count())
    throw UsageError(str(c.program, " is for ", wanted, " devices, --topology ", c.topology,
                         " has ", topology.device_count()),
                     "choose a larger topology");
  const auto begin = Clock::now();
  const CompiledProgram compiled = compiled_for(topology, c, text, options);
  const double seconds = seconds_since(begin);
  const CompiledMemory memory = compiled.memory();
  const auto cost = compiled.cost();
  const auto figure = [&](const char* name) { return cost.contains(name) ? cost.at(name) : 0.0; };
  const StepCycles cycles = step_cycles(read_hlo_module(compiled.optimized_module()));
  nlohmann::json out = cycles_json(cycles, c.top);
  out.update(nlohmann::json{{"topology", c.topology},
                            {"devices", topology.device_count()},
                            {"device_kind", topology.device_kind()},
                            {"compile_s", seconds},
                            {"flops", figure("flops")},
                            {"bytes_accessed", figure("bytes accessed")},
                            {"argument_bytes", memory.argument_bytes},
                            {"output_bytes", memory.output_bytes},
                            {"alias_bytes", memory.alias_bytes},
                            {"temporary_bytes", memory.temporary_bytes},
                            {"code_bytes", memory.code_bytes},
                            {"peak_bytes", memory.peak_bytes},
                            {"cycle_flops", cycle_flops(topology.device_kind())},
                            {"seconds", seconds_of(cycles.total, topology.device_kind())}});
  return out;
}

// What takes longest, a line each.
std::string top_text(const nlohmann::json& f) {
  std::string out;
  for (const nlohmann::json& i : f.at("top"))
    out +=
        str("  ", rounded(i.at("cycles").get<double>() / 1e6, 3), " million cycles, ",
            rounded(100 * i.at("cycles").get<double>() / f.at("cycles").get<double>(), 1),
            " %, in ", counted(i.at("turns").get<int>(), "turn"), ": ",
            i.at("name").get<std::string>(), ", from ", i.at("op_name").get<std::string>(), "\n");
  return out;
}

// For a person. What does not fit was not compiled.
std::string compiled_text(const nlohmann::json& f, const std::string& program) {
  const auto bytes = [&](const char* name) { return bytes_text(f.at(name).get<double>()); };
  const auto capacity = device_memory_bytes(f.at("device_kind").get<std::string>());
  const std::string of =
      capacity ? str(" of a device's ", bytes_text(*capacity), ", some of which is the runtime's")
               : "";
  return str("program   ", program, ", for ", f.at("topology").get<std::string>(), ": ",
             counted(f.at("devices").get<int>(), "device"), ", each a ",
             f.at("device_kind").get<std::string>(), "\nfits      yes, ", bytes("peak_bytes"),
             " at the peak", of, "\nmemory    ", bytes("argument_bytes"), " of arguments, ",
             bytes("output_bytes"), " of results (", bytes("alias_bytes"),
             " of them in the arguments' place), ", bytes("temporary_bytes"), " temporary, ",
             bytes("code_bytes"), " of code\nwork      ",
             rounded(f.at("flops").get<double>() / 1e9, 1), " GFLOP and ", bytes("bytes_accessed"),
             " moved on a device, by the compiler's count, where a loop's body counts once\n",
             "time      ", rounded(f.at("cycles").get<double>() / 1e6, 1), " million cycles, ",
             rounded(1e3 * f.at("seconds").get<double>(), 2),
             " ms at the chip's clock, by the compiler's estimate, with all turns of loops and "
             "without what devices wait for one another\n",
             top_text(f), "compiled  in ", rounded(f.at("compile_s").get<double>(), 1), " s\n");
}

}  // namespace

void add_compile_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compile",
      "compile a StableHLO program for TPUs that are not here: whether it fits a device");
  auto c = std::make_shared<CompileCommand>();
  command->add_option("program", c->program, "a file of StableHLO text (smelt bench --emit)")
      ->required();
  command
      ->add_flag_callback(
          "--with-parent", [] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); },
          "end when the process that started it does")
      ->group("");
  command->add_option("--topology", c->topology, "the TPUs by libtpu's name, e.g. v2:4x4, v5e:2x4")
      ->required();
  command->add_option("--top", c->top, "also show so many instructions that take longest")
      ->check(number_from(0, 10000));
  command->add_flag("--json", c->json, "one JSON object: the figures of one device");
  command->callback([c] {
    const nlohmann::json figures = compile_program(*c);
    std::cout << (c->json ? figures.dump() + "\n" : compiled_text(figures, c->program));
  });
}

}  // namespace smelt
