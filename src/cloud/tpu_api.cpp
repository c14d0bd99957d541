#include "cloud/tpu_api.h"

#include <algorithm>
#include <ctime>
#include <regex>

#include "base/error.h"
#include "base/nearest_name.h"
#include "cloud/tpu_fault.h"
#include "io/credentials/json_text.h"

namespace smelt::cloud {
namespace {

constexpr const char* kPageSize = "500";
constexpr int kMostPages = 1000;  // limit in case a server never ends the list

// Returns whether the error means that the API does not support a list request. Its reference does
// not document requests that list all zones at once.
bool is_no_such_list(const ApiFault& fault) { return fault.status == 400 || fault.status == 404; }

std::map<std::string, std::string> texts_in(const Json& object, const char* name) {
  std::map<std::string, std::string> out;
  const Json field = io::object_in(object, name);
  for (const auto& [key, value] : field.items())
    if (value.is_string()) out[key] = value.get<std::string>();
  return out;
}

// Returns the name of a google.rpc.Code, which operations report as a number.
std::string code_name(int code) {
  switch (code) {
    case 1:
      return "CANCELLED";
    case 2:
      return "UNKNOWN";
    case 3:
      return "INVALID_ARGUMENT";
    case 4:
      return "DEADLINE_EXCEEDED";
    case 5:
      return "NOT_FOUND";
    case 6:
      return "ALREADY_EXISTS";
    case 7:
      return "PERMISSION_DENIED";
    case 8:
      return "RESOURCE_EXHAUSTED";
    case 9:
      return "FAILED_PRECONDITION";
    case 10:
      return "ABORTED";
    case 13:
      return "INTERNAL";
    case 14:
      return "UNAVAILABLE";
    default:
      return str("code ", code);
  }
}

}  // namespace

TpuNode parse_node(const Json& node) {
  const std::string name = io::text_in(node, "name");
  TpuNode out;
  out.name = io::last_part(name);
  out.zone = io::zone_in(name);
  out.accelerator_type = io::text_in(node, "acceleratorType");
  out.runtime_version = io::text_in(node, "runtimeVersion");
  out.state = io::text_in(node, "state");
  out.health = io::text_in(node, "health");
  out.create_time = io::text_in(node, "createTime");
  out.queued_resource = io::last_part(io::text_in(node, "queuedResource"));
  const Json scheduling = io::object_in(node, "schedulingConfig");
  out.is_spot = io::is_true(scheduling, "spot") || io::is_true(scheduling, "preemptible");
  for (const Json& endpoint : io::array_in(node, "networkEndpoints")) {
    out.addresses.push_back(io::text_in(endpoint, "ipAddress"));
    out.external_addresses.push_back(
        io::text_in(io::object_in(endpoint, "accessConfig"), "externalIp"));
  }
  out.labels = texts_in(node, "labels");
  out.metadata = texts_in(node, "metadata");
  return out;
}

double created_at(const TpuNode& node) {
  std::tm time{};
  if (::strptime(node.create_time.c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return 0;
  return static_cast<double>(::timegm(&time));
}

Json node_body(const NodeSpec& spec) {
  Json body{{"acceleratorType", spec.accelerator_type},
            {"runtimeVersion", spec.runtime_version},
            {"networkConfig", {{"enableExternalIps", spec.external_ips}}}};
  if (!spec.network.empty()) body["networkConfig"]["network"] = spec.network;
  if (!spec.subnetwork.empty()) body["networkConfig"]["subnetwork"] = spec.subnetwork;
  if (spec.spot) body["schedulingConfig"] = {{"spot", true}};
  if (spec.reserved) body["schedulingConfig"] = {{"reserved", true}};
  if (!spec.service_account.empty())
    body["serviceAccount"] = {{"email", spec.service_account}, {"scope", {io::kScope}}};
  if (!spec.labels.empty()) body["labels"] = spec.labels;
  if (!spec.metadata.empty()) body["metadata"] = spec.metadata;
  return body;
}

void require_name(const std::string& name) {
  static const std::regex taken("[a-z]([a-z0-9-]{0,61}[a-z0-9])?");
  if (std::regex_match(name, taken)) return;
  std::string near = lower_case(name);
  for (char& c : near)
    if (c == '_' || c == '.') c = '-';
  throw UsageError(str("cloud: the name '", name, "' is not allowed: expected 1 to 63 of a-z, ",
                       "0-9 and '-', with a letter first and no '-' last"),
                   str("use a name such as ", std::regex_match(near, taken) ? near : "bert-1"));
}

std::string region_of(const std::string& zone) { return zone.substr(0, zone.rfind('-')); }

std::vector<std::string> split_zones(const std::string& list) {
  std::vector<std::string> out;
  for (const std::string_view piece : split(list, ','))
    if (const std::string zone(trim(piece)); std::ranges::find(out, zone) == out.end())
      out.push_back(zone);
  return out;
}

void require_zone(const std::string& zone) {
  static const std::regex form("[a-z]+(-[a-z]+)+[0-9]+-[a-z][a-z0-9]*");
  if (!std::regex_match(zone, form))
    throw UsageError(str("cloud: '", zone, "' is not a zone name, such as us-central1-a"),
                     "list the zones: smelt cloud locations");
}

void require_known(const std::string& zone, const std::vector<std::string>& known) {
  require_zone(zone);
  if (std::ranges::find(known, zone) == known.end())
    throw UsageError(str("cloud: the project has no TPUs in ", zone), did_you_mean(zone, known));
}

std::string TpuApi::in_zone(const std::string& zone, std::string_view what) const {
  return str("/v2/projects/", io::percent_encoded(project_), "/locations/",
             io::percent_encoded(zone), what);
}

Json TpuApi::list(const std::string& path, const char* field, const std::string& what,
                  std::vector<std::string>* unreachable, bool* is_unknown) {
  Json all = Json::array();
  std::string token;
  for (int page = 0; page < kMostPages; ++page) {
    ApiCall call{.service = "tpu", .path = path, .query = {{"pageSize", kPageSize}}};
    if (!token.empty()) call.query.emplace_back("pageToken", token);
    const ApiAnswer answer = api_.call(call);
    if (answer.fault && is_unknown != nullptr && is_no_such_list(*answer.fault)) {
      *is_unknown = true;
      return all;
    }
    if (answer.fault) throw_fault(*answer.fault, what, project_);
    for (const Json& item : io::array_in(answer.body, field)) all.push_back(item);
    for (const Json& place : io::array_in(answer.body, "unreachable"))
      if (unreachable != nullptr && place.is_string())
        unreachable->push_back(io::last_part(place.get<std::string>()));
    token = io::text_in(answer.body, "nextPageToken");
    if (token.empty()) return all;
  }
  throw SystemError(str("cloud: ", what, ": the server's list has too many pages"));
}

std::vector<std::string> TpuApi::zones() {
  std::vector<std::string> out;
  const std::string path = str("/v2/projects/", io::percent_encoded(project_), "/locations");
  for (const Json& item : list(path, "locations", "the zones of TPUs"))
    out.push_back(io::text_in(item, "locationId"));
  std::ranges::sort(out);
  return out;
}

void TpuApi::require_zones(const std::vector<std::string>& asked) {
  const auto known = zones();
  for (const std::string& zone : asked) require_known(zone, known);
}

std::vector<std::string> TpuApi::accelerator_types(const std::string& zone) {
  std::vector<std::string> out;
  for (const Json& item : list(in_zone(zone, "/acceleratorTypes"), "acceleratorTypes",
                               str("the types of TPUs in ", zone)))
    out.push_back(io::text_in(item, "type"));
  std::ranges::sort(out);
  return out;
}

std::vector<std::string> TpuApi::runtime_versions(const std::string& zone) {
  std::vector<std::string> out;
  for (const Json& item : list(in_zone(zone, "/runtimeVersions"), "runtimeVersions",
                               str("the runtime versions in ", zone)))
    out.push_back(io::text_in(item, "version"));
  std::ranges::sort(out);
  return out;
}

TpuList<Json> TpuApi::in_zones(const std::string& zone, const char* field,
                               const std::string& what) {
  TpuList<Json> out;
  bool is_unknown = false;
  const Json found = list(in_zone(zone, str("/", field)), field, what, &out.unreachable,
                          zone == kAllZones ? &is_unknown : nullptr);
  out.items.assign(found.begin(), found.end());
  if (!is_unknown) return out;
  const auto all = zones();
  std::vector<TpuList<Json>> of(all.size());
  call_side_by_side(api_, all.size(), [&](GoogleApi& api, std::size_t i) {
    try {
      const Json items =
          TpuApi(api, project_)
              .list(in_zone(all[i], str("/", field)), field, what, &of[i].unreachable);
      of[i].items.assign(items.begin(), items.end());
    } catch (const SystemError&) {
      of[i].unreachable.push_back(all[i]);
    }
  });
  for (TpuList<Json>& each : of) {
    std::ranges::move(each.items, std::back_inserter(out.items));
    std::ranges::move(each.unreachable, std::back_inserter(out.unreachable));
  }
  return out;
}

TpuList<TpuNode> TpuApi::nodes(const std::string& zone) {
  const auto found = in_zones(zone, "nodes", str("the nodes of project ", project_));
  TpuList<TpuNode> out{{}, found.unreachable};
  for (const Json& item : found.items) out.items.push_back(parse_node(item));
  return out;
}

std::optional<Json> TpuApi::unless_missing(const ApiAnswer& answer, const std::string& what) const {
  if (answer.fault && answer.fault->status == 404) return std::nullopt;
  if (answer.fault) throw_fault(*answer.fault, what, project_);
  return answer.body;
}

std::optional<std::string> TpuApi::operation_of(const ApiAnswer& answer,
                                                const std::string& what) const {
  const auto operation = unless_missing(answer, what);
  return operation ? std::optional(io::text_in(*operation, "name")) : std::nullopt;
}

std::optional<TpuNode> TpuApi::node(const std::string& zone, const std::string& name) {
  const auto there = unless_missing(
      api_.call({.service = "tpu", .path = in_zone(zone, "/nodes/" + io::percent_encoded(name))}),
      str("node ", name, " in ", zone));
  return there ? std::optional(parse_node(*there)) : std::nullopt;
}

TpuApi::Begun TpuApi::create(const std::string& zone, const std::string& name,
                             const NodeSpec& spec) {
  require_name(name);
  const ApiAnswer answer = api_.call({.method = "POST",
                                      .service = "tpu",
                                      .path = in_zone(zone, "/nodes"),
                                      .query = {{"nodeId", name}},
                                      .body = node_body(spec)});
  return {io::text_in(answer.body, "name"), answer.fault};
}

std::optional<std::string> TpuApi::remove(const std::string& zone, const std::string& name) {
  return operation_of(api_.call({.method = "DELETE",
                                 .service = "tpu",
                                 .path = in_zone(zone, "/nodes/" + io::percent_encoded(name))}),
                      str("node ", name, " in ", zone));
}

TpuApi::Progress TpuApi::progress(const std::string& operation) {
  const auto known =
      unless_missing(api_.call({.service = "tpu", .path = "/v2/" + operation}), operation);
  if (!known) return {.done = true};
  const Json& body = *known;
  Progress out{io::is_true(body, "done"), std::nullopt};
  const Json error = io::object_in(body, "error");
  if (!error.contains("message")) return out;
  ApiFault fault;
  fault.code = error.contains("code") && error.at("code").is_number_integer()
                   ? code_name(error.at("code").get<int>())
                   : "";
  fault.message = io::text_in(error, "message");
  out.fault = fault;
  return out;
}

}  // namespace smelt::cloud
