#include "cli/cloud/machine_verbs.h"

#include <iostream>

#include "base/duration.h"
#include "base/error.h"
#include "base/json.h"
#include "base/stop_signal.h"
#include "cli/cloud/machine_price.h"
#include "cli/options/confirm.h"
#include "cloud/machines.h"
#include "cloud/whoami.h"
#include "text/readers/unicode.h"

namespace smelt::cli {
namespace {

std::map<std::string, std::string> pairs_of(const char* flag,
                                            const std::vector<std::string>& items) {
  std::map<std::string, std::string> out;
  for (const std::string& item : items) {
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UsageError(str(flag, ": '", item, "' is not NAME=VALUE"),
                       str("write it as ", flag, " team=nlp"));
    const std::string name = item.substr(0, equals);
    std::size_t dropped_bytes = 0;
    (void)text::decode_utf8_ignore(item, &dropped_bytes);
    if (dropped_bytes > 0)
      throw UsageError(str(flag, ": the value of '", name, "' is not valid UTF-8"),
                       "write it in UTF-8");
    out[name] = item.substr(equals + 1);
  }
  return out;
}

std::string version_of(const MachineOptions& o, const cost_model::Accelerator& type) {
  if (o.version == "tpu-vm-base")
    throw UsageError("--runtime-version: tpu-vm-base is Ubuntu 20.04, which smelt does not run on",
                     str("use --runtime-version ", type.image));
  return o.version.empty() ? type.image : o.version;
}

void check_queue(const MachineOptions& o, const std::vector<std::string>& zones) {
  if (o.queued && zones.size() > 1)
    throw UsageError(str("--queued: expected one zone, got ", zones.size()),
                     str("use --zone ", zones.front()));
  for (const auto& [flag, given] :
       {std::pair{"--valid-until", !o.valid_until.empty()}, std::pair{"--no-wait", o.no_wait},
        std::pair{"--reservation", !o.reservation.empty()}})
    if (given && !o.queued)
      throw UsageError(str(flag, ": only for queued machines"), "add --queued");
  if (o.spot && o.reserved)
    throw UsageError("--spot and --reserved cannot be combined", "remove one of the two");
}

cloud::MachineRequest request_of(const MachineOptions& o, const cost_model::Accelerator& type) {
  cloud::MachineRequest request{o.name, cloud::split_zones(o.zone), {}};
  for (const std::string& zone : request.zones) cloud::require_zone(zone);
  request.spec = {.accelerator_type = type.name,
                  .runtime_version = version_of(o, type),
                  .spot = o.spot,
                  .network = o.network,
                  .subnetwork = o.subnetwork,
                  .external_ips = !o.internal,
                  .service_account = o.service_account,
                  .labels = pairs_of("--label", o.labels),
                  .metadata = pairs_of("--metadata", o.metadata),
                  .reserved = o.reserved || !o.reservation.empty()};
  cloud::require_name(o.name);
  check_queue(o, request.zones);
  return request;
}

// Retry settings that print each message to standard output.
cloud::Patience printing_patience() {
  return {&cloud::wait_or_stop, [](const std::string& line) { std::cout << line << std::endl; }};
}

// Retry settings for queued machines, which may take hours or days.
cloud::Patience long_patience() {
  cloud::Patience patience = printing_patience();
  patience.at_most = std::chrono::hours(24 * 366);
  return patience;
}

cloud::QueueSpec queue_of(const MachineOptions& o) {
  return {o.reservation, o.valid_until.empty() ? std::chrono::seconds(0)
                                               : parse_duration("--valid-until", o.valid_until)};
}

void show_request(const MachineOptions& o, const cost_model::Accelerator& type,
                  const cloud::MachineRequest& request, const std::string& project) {
  std::cout << request.name << ": " << type.name
            << (o.spot                  ? ", spot"
                : request.spec.reserved ? ", reserved"
                                        : "")
            << (o.queued ? ", queued" : "") << ", " << request.spec.runtime_version << ", project "
            << project << "\n";
  for (const std::string& zone : request.zones)
    std::cout << "  " << zone << ": "
              << price_words(machine_price(cost_model::Prices(), type, zone, o.spot)) << "\n";
  if (!o.dry_run) return;
  std::cout << (o.queued ? cloud::queued_body(project, request.zones.front(), request.name,
                                              request.spec, queue_of(o))
                         : cloud::node_body(request.spec))
                   .dump()
            << "\n";
}

cloud::TpuNode make_machine(cloud::TpuApi& tpu, const std::string& project, const MachineOptions& o,
                            const cloud::MachineRequest& request) {
  if (!o.queued) return cloud::bring_up(tpu, project, request, printing_patience());
  cloud::enqueue(tpu, project, request, queue_of(o), printing_patience());
  return cloud::wait_for_machine(tpu, request.zones.front(), request.name, long_patience());
}

OrderedJson machine_state(const std::string& name, const std::string& zone,
                          const std::string& state) {
  return {{"name", name}, {"zone", zone}, {"state", state}};
}

OrderedJson tell_ready(const cloud::TpuNode& node) {
  std::cout << node.zone << ": " << node.name << " is " << node.state << "\n";
  for (std::size_t i = 0; i < node.addresses.size(); ++i)
    std::cout << "  worker " << i << ": " << node.addresses[i] << " " << node.external_addresses[i]
              << "\n";
  std::cout << "when done: smelt cloud down " << node.name << " --zone " << node.zone << "\n";
  OrderedJson out = machine_state(node.name, node.zone, node.state);
  out["addresses"] = node.addresses;
  out["external_addresses"] = node.external_addresses;
  return out;
}

}  // namespace

OrderedJson bring_machine_up(const MachineOptions& o) {
  const cost_model::Accelerator type = cost_model::creatable_tpu("--type", o.type);
  const cloud::MachineRequest request = request_of(o, type);
  (void)queue_of(o);
  cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
  const std::string project = cloud::project_of(o.project, api);
  cloud::TpuApi tpu(api, project);
  tpu.require_zones(request.zones);
  show_request(o, type, request, project);
  if (o.dry_run) return machine_state(request.name, request.zones.front(), "NOT_MADE");
  require_agreement(o.yes, "create it?", "nothing was created; --yes creates it");
  const StopSignal signal("\nstopping: a second signal ends at once\n");
  if (!o.no_wait) return tell_ready(make_machine(tpu, project, o, request));
  cloud::enqueue(tpu, project, request, queue_of(o), printing_patience());
  std::cout << "the request is queued: smelt cloud status " << request.name << " --zone "
            << request.zones.front() << " --wait waits for it\n";
  return machine_state(request.name, request.zones.front(), "QUEUED");
}

// Throws an error if a missing machine exists in another zone or may exist there; a machine that is
// already deleted everywhere is fine.
void refuse_elsewhere(cloud::TpuApi& tpu, const MachineOptions& o) {
  const auto [found, silent] = cloud::find_everywhere(tpu, o.name);
  const std::string none = str("cloud: no machine ", o.name, " in ", o.zone);
  if (!found.empty())
    throw UsageError(
        str(none, "; it is in ", found.begin()->first),
        str("delete it with smelt cloud down ", o.name, " --zone ", found.begin()->first));
  if (!silent.empty())
    throw SystemError(
        str(none, "; other zones could not be checked: no answer from ", join(silent, ", ")),
        "run the command again");
}

OrderedJson take_machine_down(const MachineOptions& o) {
  cloud::require_zone(o.zone);
  cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
  const std::string project = cloud::project_of(o.project, api);
  cloud::TpuApi tpu(api, project);
  const cloud::Found found{tpu.node(o.zone, o.name), tpu.queued_one(o.zone, o.name)};
  if (!found.node && !found.queued) {
    tpu.require_zones({o.zone});
    refuse_elsewhere(tpu, o);
    std::cout << "no machine " << o.name << " in " << o.zone << " or any other zone\n";
    return machine_state(o.name, o.zone, "NOT_FOUND");
  }
  std::cout << o.name << ": "
            << (found.node ? found.node->accelerator_type : found.queued->accelerator_type)
            << " in " << o.zone << ", " << (found.node ? found.node->state : found.queued->state)
            << (found.node ? "" : ", in the queue") << "\n";
  require_agreement(o.yes, "delete it?", "nothing was deleted; --yes deletes it");
  const StopSignal signal("\nstopping: the machine is deleted anyway\n");
  cloud::take_down(tpu, project, o.zone, o.name, printing_patience());
  std::cout << "deleted\n";
  return machine_state(o.name, o.zone, "DELETED");
}

OrderedJson switch_machine(const MachineOptions& o, const std::string& verb) {
  cloud::require_zone(o.zone);
  cloud::GoogleApi api{cloud::TokenSource(io::google_credentials())};
  const std::string project = cloud::project_of(o.project, api);
  cloud::TpuApi tpu(api, project);
  const auto node = tpu.node(o.zone, o.name);
  if (!node) tpu.require_zones({o.zone});
  if (!node)
    throw UsageError(str("cloud: no machine ", o.name, " in ", o.zone),
                     "see the names with `smelt cloud list`");
  if (node->is_spot)
    throw UsageError(
        str("cloud: ", o.name, " is a spot machine, which cannot be started or stopped"),
        str("delete it with smelt cloud down ", o.name, " --zone ", o.zone,
            ", then create it again"));
  const StopSignal signal("\nstopping: the machine continues anyway\n");
  cloud::finish_switch(tpu, project, *node, verb, printing_patience());
  std::cout << o.name << " in " << o.zone << ": " << verb << (verb == "stop" ? "ped" : "ed")
            << "\n";
  return machine_state(o.name, o.zone, verb == "stop" ? "STOPPED" : "READY");
}

}  // namespace smelt::cli
