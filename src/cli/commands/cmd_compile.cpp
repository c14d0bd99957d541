#include "cli/commands/cmd_compile.h"

#include <sys/prctl.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <regex>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/number_format.h"
#include "base/plural.h"
#include "base/progress.h"
#include "cli/options/number_check.h"
#include "execution/train_state/compiled_step.h"
#include "io/filesystem/file.h"
#include "pjrt/device_specs.h"
#include "pjrt/schedule.h"
#include "pjrt/step_cycles.h"
#include "pjrt/topology.h"

namespace smelt::cli {
namespace {

struct CompileCommand {
  std::string program, topology;
  std::int64_t top = 0;
  bool json = false;
};

// Returns a count such as "mhlo.num_partitions = 32" from the module's head, or 1 if it is missing.
int module_count(const std::string& text, const std::string& name) {
  const std::string head = text.substr(0, text.find("func.func"));
  std::smatch found;
  const bool given =
      std::regex_search(head, found, std::regex("mhlo\\." + name + " = (\\d{1,6}) "));
  return given ? std::stoi(found[1]) : 1;
}

// Throws UsageError for an unknown topology, because libtpu ends the process for some of them.
void check_topology(const std::string& name) {
  std::smatch found;
  const bool fits = std::regex_match(
      name, found,
      std::regex("(v[0-9]+[a-z]*|tpu7x):([1-9][0-9]{0,2})x([1-9][0-9]{0,2})(x[1-9][0-9]{0,2})?"));
  static const std::map<std::string, int> flat{{"v2", 16}, {"v3", 32}, {"v5e", 16}, {"v6e", 16}};
  const auto most = flat.find(fits ? found[1].str() : "");
  if (fits && (most == flat.end() || (!found[4].matched && std::stoi(found[2]) <= most->second &&
                                      std::stoi(found[3]) <= most->second)))
    return;
  throw UsageError(str("--topology '", name, "' is not a TPU slice"),
                   "use libtpu's name of the slice, e.g. v2:4x4, v3:2x2, v4:2x2x1, v5e:2x4");
}

pjrt::Topology topology_of(const std::string& name) {
  try {
    return pjrt::Topology::tpu(name);
  } catch (const pjrt::PjrtError& error) {
    throw UsageError(str("--topology ", name, ": ", error.what()),
                     "use libtpu's name of the slice, e.g. v2:4x4, v3:2x2, v5e:2x4");
  }
}

pjrt::CompiledProgram compiled_for(const pjrt::Topology& topology, const CompileCommand& c,
                                   const std::string& text, const pjrt::CompileOptions& options) {
  try {
    return topology.compile(text, options);
  } catch (const pjrt::PjrtError& error) {
    if (error.code() == pjrt_abi::ErrorCode::resource_exhausted)
      execution::throw_does_not_fit(
          error, execution::advice_for_training(str(c.program, " on ", c.topology), flag));
    // Only the first line is shown: the others are about StableHLO versions, or repeat the program.
    throw UsageError(str(c.program, ": ", first_line(error.what())),
                     "use a file of StableHLO text, such as the output of smelt bench --emit");
  }
}

// Returns the mesh "sdy.mesh @mesh = <["data"=2, "fsdp"=4]>" of the module; without one, all
// devices are along "data".
compiler::Mesh mesh_of(const std::string& text, std::int64_t devices) {
  const std::string head = text.substr(0, text.find("func.func"));
  const std::size_t at = head.find("sdy.mesh");
  compiler::Mesh out;
  if (at != head.npos) {
    const std::regex axis("\"(\\w+)\"\\s*=\\s*(\\d{1,6})");
    for (std::sregex_iterator i(head.begin() + static_cast<std::ptrdiff_t>(at), head.end(), axis),
         end;
         i != end; ++i)
      out.emplace_back((*i)[1], std::stoll((*i)[2]));
  }
  return out.empty() ? compiler::Mesh{{"data", devices}} : out;
}

// Returns the bytes that a device sends along each axis of the mesh, and how much of it overlaps
// with compute.
Json axes_json(const pjrt::StepCycles& cycles, const compiler::Mesh& mesh) {
  std::int64_t devices = 1;
  for (const auto& [axis, size] : mesh) devices *= size;
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < devices; ++i) all.push_back(i);
  std::map<std::string, std::map<std::string, double>> by_axes;
  for (const pjrt::CollectiveBytes& c : cycles.collectives) {
    auto& axis = by_axes[pjrt::axes_of(mesh, c.group.empty() ? all : c.group)];
    const double sent = pjrt::sent_bytes(c, devices);
    axis[c.opcode == "all-reduce" ? "all_reduce" : "other"] += sent;
    axis[c.opcode == "all-reduce" ? "asynchronous_all_reduce" : "asynchronous_other"] +=
        c.asynchronous ? sent : 0;
  }
  Json out = Json::object();
  for (const auto& [axes, sent] : by_axes)
    if (!axes.empty()) out[axes] = sent;
  return out;
}

Json cycles_json(const pjrt::StepCycles& cycles, std::int64_t top) {
  Json out{{"cycles", cycles.total},
           {"scheduled", cycles.scheduled},
           {"unread", cycles.unread},
           {"top", Json::array()},
           {"collectives", Json::object()}};
  // Bytes by opcode: all, and those that overlap with compute.
  std::map<std::string, std::pair<double, double>> by_opcode;
  for (const pjrt::CollectiveBytes& c : cycles.collectives) {
    by_opcode[c.opcode].first += c.bytes;
    if (c.asynchronous) by_opcode[c.opcode].second += c.bytes;
  }
  for (const auto& [opcode, bytes] : by_opcode)
    out["collectives"][opcode] = {{"bytes", bytes.first}, {"asynchronous_bytes", bytes.second}};
  for (const pjrt::InstructionCycles& i : cycles.instructions) {
    if (std::ssize(out["top"]) == top) break;
    out["top"].push_back({{"name", i.name},
                          {"op_name", i.op_name},
                          {"cycles", i.cycles},
                          {"scheduled", i.scheduled},
                          {"hbm_bytes", i.hbm_bytes},
                          {"turns", i.runs},
                          {"bytes", i.bytes}});
  }
  return out;
}

pjrt::StepCycles cycles_of(const pjrt::CompiledProgram& compiled, const pjrt::ScheduleDump& dump,
                           const std::string& device_kind) {
  pjrt::StepCycles out = pjrt::step_cycles(pjrt::read_hlo_module(compiled.optimized_module()));
  pjrt::add_schedule(out, dump.kernels(), device_kind);
  return out;
}

// Returns the bytes moved between a device's HBM and its cores.
double moved_bytes(const pjrt::StepCycles& cycles) {
  double out = 0;
  for (const pjrt::InstructionCycles& i : cycles.instructions) out += i.hbm_bytes;
  return out;
}

Json compile_program(const CompileCommand& c) {
  const std::string text = io::read_file(c.program);
  pjrt::CompileOptions options;
  options.num_partitions = module_count(text, "num_partitions");
  options.num_replicas = module_count(text, "num_replicas");
  check_topology(c.topology);
  const pjrt::ScheduleDump dump;
  const pjrt::Topology topology = topology_of(c.topology);
  const int wanted = options.num_partitions * options.num_replicas;
  if (wanted > topology.device_count())
    throw UsageError(str(c.program, " is for ", wanted, " devices, --topology ", c.topology,
                         " has ", topology.device_count()),
                     "choose a larger topology");
  const auto begin = Clock::now();
  const pjrt::CompiledProgram compiled = compiled_for(topology, c, text, options);
  const double seconds = seconds_since(begin);
  const pjrt::CompiledMemory memory = compiled.memory();
  const auto cost = compiled.cost();
  const auto figure = [&](const char* name) { return cost.contains(name) ? cost.at(name) : 0.0; };
  const pjrt::StepCycles cycles = cycles_of(compiled, dump, topology.device_kind());
  Json out = cycles_json(cycles, c.top);
  out.update(
      Json{{"topology", c.topology},
           {"sent_bytes", axes_json(cycles, mesh_of(text, wanted))},
           {"moved_bytes", moved_bytes(cycles)},
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
           {"cycle_flops", pjrt::cycle_flops(topology.device_kind())},
           {"seconds", pjrt::seconds_of(cycles.total, topology.device_kind())},
           {"scheduled_seconds", pjrt::seconds_of(cycles.scheduled, topology.device_kind())}});
  return out;
}

// Returns the slowest instructions, one per line.
std::string top_text(const Json& f) {
  std::string out;
  for (const Json& i : f.at("top"))
    out +=
        str("  ", rounded(i.at("scheduled").get<double>() / 1e6, 3), " million cycles, ",
            rounded(100 * i.at("scheduled").get<double>() / f.at("scheduled").get<double>(), 1),
            " %, in ", counted(i.at("turns").get<int>(), "turn"), ": ",
            i.at("name").get<std::string>(), ", from ", i.at("op_name").get<std::string>(), "\n");
  return out;
}

// Returns the communication between devices, one line per mesh axis.
std::string sent_text(const Json& f) {
  std::string out;
  for (const auto& [axes, sent] : f.at("sent_bytes").items()) {
    const auto bytes = [&](const char* name) { return sent.value(name, 0.0); };
    const double beside = bytes("asynchronous_all_reduce") + bytes("asynchronous_other");
    out += str("sends     ", bytes_text(bytes("all_reduce") + bytes("other")),
               " from each device along ", axes, ", ", bytes_text(beside),
               " of them overlapped with compute\n");
  }
  return out;
}

// Returns the report as text. A program that does not fit in memory is not compiled.
std::string compiled_text(const Json& f, const std::string& program) {
  const auto bytes = [&](const char* name) { return bytes_text(f.at(name).get<double>()); };
  const auto capacity = pjrt::device_memory_bytes(f.at("device_kind").get<std::string>());
  const std::string of = capacity ? str(" of a device's ", bytes_text(*capacity),
                                        ", of which the runtime reserves a part")
                                  : "";
  return str("program   ", program, ", for ", f.at("topology").get<std::string>(), ": ",
             counted(f.at("devices").get<int>(), "device"), ", each a ",
             f.at("device_kind").get<std::string>(), "\nfits      yes, ", bytes("peak_bytes"),
             " at the peak", of, "\nmemory    ", bytes("argument_bytes"), " of arguments, ",
             bytes("output_bytes"), " of results (", bytes("alias_bytes"),
             " of them in the arguments' buffers), ", bytes("temporary_bytes"), " temporary, ",
             bytes("code_bytes"), " of code\nwork      ",
             rounded(f.at("flops").get<double>() / 1e9, 1), " GFLOP and ", bytes("bytes_accessed"),
             " moved on a device, by the compiler's count, in which a loop's body counts once\n",
             "time      ", rounded(f.at("scheduled").get<double>() / 1e6, 1), " million cycles, ",
             rounded(1e3 * f.at("scheduled_seconds").get<double>(), 2),
             " ms at the chip's clock, by the compiler's schedule (by its estimate ",
             rounded(f.at("cycles").get<double>() / 1e6, 1),
             "), with all loop iterations, without the time that devices wait for each other\n",
             sent_text(f), top_text(f), "compiled  in ",
             rounded(f.at("compile_s").get<double>(), 1), " s\n");
}

}  // namespace

void add_compile_command(CLI::App& app) {
  auto* command = app.add_subcommand(
      "compile", "compile a StableHLO program for a TPU without a TPU; show memory and cycles");
  auto c = std::make_shared<CompileCommand>();
  command->add_option("program", c->program, "a file of StableHLO text (smelt bench --emit)")
      ->required();
  command
      ->add_flag_callback(
          "--with-parent", [] { ::prctl(PR_SET_PDEATHSIG, SIGKILL); },
          "end when the parent process ends")
      ->group("");
  command
      ->add_option("--topology", c->topology,
                   "the TPU slice by libtpu's name, e.g. v2:4x4, v5e:2x4")
      ->required();
  command->add_option("--top", c->top, "also show this many of the slowest instructions")
      ->check(number_from(0, 10000));
  command->add_flag("--json", c->json, "print one JSON object with the values of one device");
  command->callback([c] {
    const Json figures = compile_program(*c);
    std::cout << (c->json ? figures.dump() + "\n" : compiled_text(figures, c->program));
  });
}

}  // namespace smelt::cli
