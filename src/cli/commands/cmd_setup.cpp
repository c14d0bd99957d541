#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/progress.h"
#include "cli/commands/commands.h"
#include "pjrt/find_plugin.h"
#include "pjrt/hardware.h"
#include "pjrt/plugin_setup.h"

namespace smelt::cli {
namespace {

struct SetupOptions {
  std::string device;
  bool dry_run = false, json = false;
};

// Returns why the device cannot be used on this machine apart from the plugin, or "" if it can.
std::string missing_hardware(std::string_view device) try {
  if (device == "tpu") pjrt::require_tpu();
  if (device == "gpu") pjrt::require_nvidia_driver();
  return {};
} catch (const UsageError& error) {
  return first_line(error.what());
}

OrderedJson as_json(const pjrt::PluginSetup& setup, const SetupOptions& o, bool was_installed) {
  OrderedJson out{{"device", o.device},
                  {"folder", setup.folder()},
                  {"was_installed", was_installed},
                  {"installed", setup.installed()},
                  {"download_bytes", setup.download_bytes()},
                  {"unpacked_bytes", setup.unpacked_bytes()},
                  {"packages", OrderedJson::array()},
                  {"missing_hardware", nullptr}};
  for (const pjrt::Wheel& wheel : setup.wheels())
    out["packages"].push_back({{"name", wheel.name},
                               {"version", wheel.version},
                               {"download_bytes", wheel.download_bytes},
                               {"unpacked_bytes", wheel.unpacked_bytes}});
  if (const std::string missing = missing_hardware(o.device); !missing.empty())
    out["missing_hardware"] = missing;
  return out;
}

std::string plan_text(const pjrt::PluginSetup& setup) {
  std::string out;
  for (const pjrt::Wheel& wheel : setup.wheels()) {
    const std::string name = str(wheel.name, " ", wheel.version);
    const std::string size = bytes_text(static_cast<double>(wheel.download_bytes));
    out += str("  ", name, std::string(name.size() < 36 ? 36 - name.size() : 1, ' '), size, "\n");
  }
  return str(out, "to download: ", bytes_text(static_cast<double>(setup.download_bytes())),
             "; unpacked: ", bytes_text(static_cast<double>(setup.unpacked_bytes())),
             "\nfolder:      ", setup.folder(), "\n");
}

void run_setup(const SetupOptions& o) {
  std::vector<pjrt::Wheel> wheels = pjrt::plugin_wheels(o.device);
  const auto folder = pjrt::setup_folder(o.device);
  if (!folder)
    throw UsageError("setup: neither XDG_DATA_HOME nor HOME is set to a folder",
                     "set XDG_DATA_HOME to the folder for plugins");
  const pjrt::PluginSetup setup(std::move(wheels), *folder);
  const bool was_installed = setup.installed();
  const bool wanted = !was_installed && !o.dry_run;
  if (!o.json && !was_installed) std::cout << plan_text(setup) << std::flush;
  if (wanted) setup.install();
  if (o.json) {
    std::cout << as_json(setup, o, was_installed).dump() << "\n";
    return;
  }
  if (was_installed) std::cout << "already installed: " << setup.folder() << "\n";
  if (wanted) std::cout << "ready: --device " << o.device << " uses it\n";
  if (const std::string missing = missing_hardware(o.device); !missing.empty())
    std::cout << "note: " << missing << "\n";
}

}  // namespace

void add_setup_command(CLI::App& app) {
  auto* command = app.add_subcommand("setup", "download the plugin for GPUs or TPUs");
  auto o = std::make_shared<SetupOptions>();
  command->add_option("device", o->device, "gpu or tpu")->required();
  command->add_flag("--dry-run", o->dry_run,
                    "show what would be downloaded without downloading it");
  command->add_flag("--json", o->json, "print one JSON object instead of lines");
  command->callback([o] { run_setup(*o); });
}

}  // namespace smelt::cli
