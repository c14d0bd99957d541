#include "cloud/fake_tpu.h"

#include <ctime>
#include <iomanip>
#include <sstream>

#include "base/error.h"

namespace smelt::cloud {
namespace {

ServedAnswer refusal(int status, const char* code, const std::string& message) {
  return {status,
          Json{{"error", {{"code", status}, {"status", code}, {"message", message}}}}.dump()};
}

// Returns Google's response to a user without a quota project, whose calls are counted against
// gcloud's own project.
ServedAnswer refused_without_quota_project() {
  const Json info{{"@type", "type.googleapis.com/google.rpc.ErrorInfo"},
                  {"reason", "SERVICE_DISABLED"},
                  {"metadata", {{"consumer", "projects/764086051850"}}}};
  return {403, Json{{"error",
                     {{"code", 403},
                      {"status", "PERMISSION_DENIED"},
                      {"message", "Cloud TPU API has not been used in project 764086051850"},
                      {"details", Json::array({info})}}}}
                   .dump()};
}

// Returns the value of a query parameter: "a" for the name "nodeId" in "nodeId=a&x=y".
std::string parameter(const std::string& query, const std::string& name) {
  for (const std::string_view item : split(query, '&'))
    if (item.starts_with(name + "=")) return std::string(item.substr(name.size() + 1));
  return {};
}

std::string query_of(const ServedRequest& request) {
  const std::size_t mark = request.target.find('?');
  return mark == std::string::npos ? "" : request.target.substr(mark + 1);
}

std::vector<Json> below(const std::map<std::string, Json>& all, const std::string& parent) {
  std::vector<Json> out;
  for (const auto& [name, item] : all)
    if (name.starts_with(parent)) out.push_back(item);
  return out;
}

}  // namespace

FakeTpu::FakeTpu() : zones{{"us-central1-a", {}}, {"us-central1-b", {}}, {"europe-west4-a", {}}} {}

ServedAnswer FakeTpu::serve(const ServedRequest& request) {
  if (seconds < out_until) return {.hangs_up = true};
  if (requires_quota_project && !request.headers.contains("x-goog-user-project"))
    return refused_without_quota_project();
  if (!faults.empty()) {
    const ServedAnswer fault = faults.front();
    faults.pop_front();
    return fault;
  }
  std::vector<std::string> parts;
  const std::string path = request.target.substr(1, request.target.find('?') - 1);
  for (const std::string_view part : split(path, '/')) parts.emplace_back(part);
  const bool known = parts.size() >= 4 && parts[0] == "v2" && parts[1] == "projects" &&
                     parts[2] == "p" && parts[3] == "locations";
  if (!known) return refusal(404, "NOT_FOUND", "no such method");
  const bool is_lost = request.method == "POST" && !lost_answers.empty();
  if (!is_lost) return route(request, parts);
  if (obeys_lost) route(request, parts);
  const ServedAnswer lost = lost_answers.front();
  lost_answers.pop_front();
  return lost;
}

ServedAnswer FakeTpu::route(const ServedRequest& request, const std::vector<std::string>& parts) {
  const std::string query = query_of(request);
  if (parts.size() == 4) {
    std::vector<Json> items;
    for (const auto& [name, zone] : zones)
      items.push_back({{"name", "projects/p/locations/" + name}, {"locationId", name}});
    return page_of("locations", items, query);
  }
  const std::string &zone = parts[4], parent = "projects/p/locations/" + zone;
  if (zone == "-" ? !lists_all_zones : !zones.contains(zone))
    return refusal(404, "NOT_FOUND", str("Location ", zone, " is not found"));
  if (parts.size() < 6) return refusal(404, "NOT_FOUND", "no such method");
  std::vector<Json> items;
  if (parts[5] == "acceleratorTypes") {
    for (const std::string& type : zones.at(zone).types)
      items.push_back({{"name", parent + "/acceleratorTypes/" + type}, {"type", type}});
    return page_of("acceleratorTypes", items, query);
  }
  if (parts[5] == "runtimeVersions") {
    for (const std::string& version : zones.at(zone).versions)
      items.push_back({{"name", parent + "/runtimeVersions/" + version}, {"version", version}});
    return page_of("runtimeVersions", items, query);
  }
  if (parts[5] == "operations") return poll(str(parent, "/operations/", parts.at(6)));
  if (zone != "-" && !zones.at(zone).answers)
    return refusal(503, "UNAVAILABLE", str(zone, " does not answer"));
  auto& all = parts[5] == "nodes" ? nodes_ : queued_;
  if (parts.size() == 7) return one(request, all, str(parent, "/", parts[5], "/", parts[6]));
  return parts[5] == "nodes" ? nodes(request, zone) : queue(request, zone);
}

ServedAnswer FakeTpu::nodes(const ServedRequest& request, const std::string& zone) {
  const std::string query = query_of(request);
  if (request.method == "POST")
    return create(Json::parse(request.body), zone, parameter(query, "nodeId"));
  std::vector<std::string> unreachable;
  std::vector<Json> items;
  for (const auto& [name, facts] : zones) {
    if (zone != "-" && zone != name) continue;
    if (!facts.answers) unreachable.push_back("projects/p/locations/" + name);
    if (facts.answers)
      for (const Json& item : below(nodes_, str("projects/p/locations/", name, "/")))
        if (!is_hidden(item.at("name"))) items.push_back(item);
  }
  return page_of("nodes", items, query, unreachable);
}

ServedAnswer FakeTpu::queue(const ServedRequest& request, const std::string& zone) {
  const std::string query = query_of(request);
  const std::string parent = zone == "-" ? "projects/p/locations/" : "projects/p/locations/" + zone;
  if (request.method == "GET") return page_of("queuedResources", below(queued_, parent), query);
  Json body = Json::parse(request.body);
  const std::string name = str(parent, "/queuedResources/", parameter(query, "queuedResourceId"));
  if (queued_.contains(name)) return refusal(409, "ALREADY_EXISTS", name + " already exists");
  body["name"] = name;
  body["state"] = {{"state", "WAITING_FOR_RESOURCES"}};
  body["createTime"] = now();
  if (body.contains("queueingPolicy"))
    ends_[name] =
        seconds + std::stod(body["queueingPolicy"]["validUntilDuration"].get<std::string>());
  else
    ends_.erase(name);
  queued_[name] = body;
  return {200, begin(zone, "", false).dump()};
}

ServedAnswer FakeTpu::one(const ServedRequest& request, std::map<std::string, Json>& all,
                          const std::string& name) {
  if (request.method == "POST") return verb(request, name);
  const bool is_node = &all == &nodes_;
  if (is_node && completes_unasked) complete(name);
  const bool hidden = is_node && is_hidden(name);
  if (hidden) --hidden_[name];
  const auto found = all.find(name);
  if (found == all.end() || hidden)
    return refusal(404, "NOT_FOUND", str("Resource '", name, "' not found"));
  Json& item = found->second;
  const std::string zone(split(name, '/')[3]);
  if (request.method == "GET") {
    is_node ? show_addresses(item) : advance(item);
    return {200, item.dump()};
  }
  if (request.method == "PATCH") {
    CHECK(parameter(query_of(request), "updateMask") == "metadata", request.target);
    if (!change_faults.empty()) {
      const ServedAnswer fault = change_faults.front();
      change_faults.pop_front();
      return fault;
    }
    item["metadata"] = Json::parse(request.body).at("metadata");
    if (on_metadata) on_metadata(item["metadata"]);
    return {200, begin(zone, name, false).dump()};
  }
  if (is_node) {
    item["state"] = "DELETING";
    suspend_queue_of(name);
    return {200, begin(zone, name, true).dump()};
  }
  const std::string node = str("projects/p/locations/", zone, "/nodes/",
                               item["tpu"]["nodeSpec"][0]["nodeId"].get<std::string>());
  if (nodes_.contains(node) && parameter(query_of(request), "force") != "true")
    return refusal(400, "FAILED_PRECONDITION", "it has nodes; delete them first");
  all.erase(found);
  if (nodes_.contains(node)) nodes_[node]["state"] = "DELETING";
  return {200, begin(zone, node, true).dump()};
}

bool FakeTpu::is_hidden(const std::string& name) const {
  const auto found = hidden_.find(name);
  return found != hidden_.end() && found->second > 0;
}

void FakeTpu::complete(const std::string& name) {
  const auto node = nodes_.find(name);
  if (node == nodes_.end()) return;
  const std::string state = node->second["state"];
  if (is_hidden(name)) return;
  if ((state != "CREATING" && state != "DELETING") || ++looks_[name + state] < node_looks) return;
  looks_.erase(name + state);
  if (state == "DELETING") {
    nodes_.erase(node);
    return;
  }
  become_ready(node->second);
}

void FakeTpu::become_ready(Json& node) {
  node["state"] = "READY";
  ready_at_[node.at("name")] = seconds;
  show_addresses(node);
}

void FakeTpu::show_addresses(Json& node) {
  const bool is_ready = node.at("state") == "READY" && !node.contains("networkEndpoints");
  if (is_ready && seconds >= ready_at_[node.at("name")] + addresses_after)
    node["networkEndpoints"] = endpoints();
}

std::string FakeTpu::full(const std::string& name) {
  const auto parts = split(name, '/');
  return str("projects/p/locations/", parts[0], "/nodes/", parts[1]);
}

void FakeTpu::finish(const std::string& name) {
  hidden_.erase(full(name));
  looks_[full(name) + nodes_.at(full(name)).at("state").get<std::string>()] = node_looks;
  complete(full(name));
}

ServedAnswer FakeTpu::verb(const ServedRequest& request, const std::string& name) {
  const std::size_t colon = name.rfind(':');
  const auto found = nodes_.find(name.substr(0, colon));
  if (found == nodes_.end()) return refusal(404, "NOT_FOUND", str(name, " not found"));
  const std::string what = name.substr(colon + 1);
  if (what == "stop" || what == "start") {
    found->second["state"] = what == "stop" ? "STOPPED" : "READY";
    return {200, begin(std::string(split(name, '/')[3]), found->first, false).dump()};
  }
  if (what != "getGuestAttributes" || host_keys.empty())
    return refusal(403, "PERMISSION_DENIED", "guest attributes are not to be asked");
  Json workers = Json::array();
  for (const auto& keys : host_keys) {
    Json items = Json::array();
    for (const auto& [key, value] : keys)
      items.push_back({{"namespace", "hostkeys"}, {"key", key}, {"value", value}});
    workers.push_back({{"queryPath", Json::parse(request.body).at("queryPath")},
                       {"queryValue", {{"items", items}}}});
  }
  return {200, Json{{"guestAttributes", workers}}.dump()};
}

void FakeTpu::advance(Json& queued) {
  Json& state = queued["state"]["state"];
  const std::string name = queued["name"], zone(split(name, '/')[3]);
  if (state == "PROVISIONING") {
    const Json& spec = queued["tpu"]["nodeSpec"][0];
    const std::string node =
        str("projects/p/locations/", zone, "/nodes/", spec["nodeId"].get<std::string>());
    nodes_[node] = spec["node"];
    nodes_[node]["name"] = node;
    nodes_[node]["createTime"] = now();
    nodes_[node]["queuedResource"] = name;
    become_ready(nodes_[node]);
    if (queued.contains("spot")) nodes_[node]["schedulingConfig"]["spot"] = true;
    state = "ACTIVE";
  }
  if (state != "WAITING_FOR_RESOURCES") return;
  const auto end = ends_.find(name);
  const bool has_waited = end != ends_.end() && seconds >= end->second;
  if (!has_waited && ++looks_[name] < queue_looks) return;
  if (has_waited || !queue_fault.empty()) {
    const std::string why = has_waited ? "its time in the queue is over" : queue_fault;
    state = "FAILED";
    queued["state"]["failedData"] = {{"error", {{"code", 8}, {"message", why}}}};
  } else if (zones.at(zone).queue_moves && count_in(zone) < zones.at(zone).capacity) {
    state = "PROVISIONING";
  }
}

void FakeTpu::suspend_queue_of(const std::string& node) {
  const std::string queued = nodes_.at(node).value("queuedResource", "");
  if (const auto found = queued_.find(queued); found != queued_.end())
    found->second["state"] = {{"state", "SUSPENDED"}};
}

std::string FakeTpu::now() const {
  const auto whole = static_cast<std::time_t>(seconds);
  std::ostringstream out;
  out << std::put_time(std::gmtime(&whole), "%Y-%m-%dT%H:%M:%S.123456Z");
  return out.str();
}

Json FakeTpu::endpoints() const {
  Json out = Json::array();
  for (const auto& [internal, external] : addresses)
    out.push_back(
        {{"ipAddress", internal}, {"port", 8470}, {"accessConfig", {{"externalIp", external}}}});
  return out;
}

int FakeTpu::count_in(const std::string& zone) const {
  return static_cast<int>(below(nodes_, str("projects/p/locations/", zone, "/")).size());
}

ServedAnswer FakeTpu::create(const Json& body, const std::string& zone, const std::string& id) {
  const Zone& facts = zones.at(zone);
  const std::string name = str("projects/p/locations/", zone, "/nodes/", id);
  const std::string type = body.value("acceleratorType", "");
  if (id.empty() || id.find('_') != std::string::npos)
    return refusal(400, "INVALID_ARGUMENT", "invalid node id");
  if (nodes_.contains(name)) return refusal(409, "ALREADY_EXISTS", name + " already exists");
  if (std::find(facts.types.begin(), facts.types.end(), type) == facts.types.end())
    return refusal(404, "NOT_FOUND", str("Accelerator type ", type, " is not found in ", zone));
  if (count_in(zone) >= quota)
    return refusal(429, "RESOURCE_EXHAUSTED",
                   str("Quota limit 'TPUV3sPerProjectPerZoneForTPUAPI' has been exceeded. Limit: ",
                       8 * quota, " in zone ", zone, "."));
  Json node = body;
  node["name"] = name;
  node["state"] = "CREATING";
  node["createTime"] = now();
  if (count_in(zone) >= facts.capacity)
    return {200, begin(zone, "", false,
                       Json{{"code", 8},
                            {"message", str("There is no more capacity in the zone \"", zone,
                                            "\"; you can try in another zone")}})
                     .dump()};
  if (!operation_errors.empty()) {
    const Json error = operation_errors.front();
    operation_errors.pop_front();
    return {200, begin(zone, "", false, error).dump()};
  }
  nodes_[name] = node;
  hidden_[name] = hidden_looks;
  return {200, begin(zone, name, false).dump()};
}

Json FakeTpu::begin(const std::string& zone, const std::string& node, bool deletes,
                    std::optional<Json> error) {
  const std::string name = str("projects/p/locations/", zone, "/operations/operation-", ++made_);
  const Json body{{"name", name}, {"done", false}};
  operations_[name] = {body, node, deletes, polls, std::move(error)};
  return body;
}

ServedAnswer FakeTpu::poll(const std::string& name) {
  const auto found = operations_.find(name);
  if (found == operations_.end()) return refusal(404, "NOT_FOUND", "no such operation");
  Operation& operation = found->second;
  if (--operation.left > 0) return {200, operation.body.dump()};
  operation.body["done"] = true;
  if (operation.error) operation.body["error"] = *operation.error;
  if (operation.deletes) {
    nodes_.erase(operation.node);
    operation.body["response"] = {{"@type", "type.googleapis.com/google.protobuf.Empty"}};
  } else if (const auto node = nodes_.find(operation.node); node != nodes_.end()) {
    if (node->second["state"] == "CREATING") become_ready(node->second);
    show_addresses(node->second);
    operation.body["response"] = node->second;
    operation.body["response"]["@type"] = "type.googleapis.com/google.cloud.tpu.v2.Node";
  }
  return {200, operation.body.dump()};
}

ServedAnswer FakeTpu::page_of(const char* field, const std::vector<Json>& items,
                              const std::string& query,
                              const std::vector<std::string>& unreachable) const {
  const std::string token = parameter(query, "pageToken");
  const std::size_t begin = token.empty() ? 0 : std::stoul(token);
  const std::size_t end = std::min(items.size(), begin + page);
  Json body{{field, std::vector<Json>(items.begin() + static_cast<std::ptrdiff_t>(begin),
                                      items.begin() + static_cast<std::ptrdiff_t>(end))}};
  if (end < items.size()) body["nextPageToken"] = std::to_string(end);
  if (!unreachable.empty()) body["unreachable"] = unreachable;
  return {200, body.dump()};
}

void FakeTpu::preempt(const std::string& name) {
  for (auto& [full, node] : nodes_)
    if (full.ends_with("/" + name)) {
      node["state"] = "PREEMPTED";
      suspend_queue_of(full);
    }
}

void FakeTpu::rename_node(const std::string& queued, const std::string& node) {
  for (auto& [name, item] : queued_) {
    if (!name.ends_with("/" + queued)) continue;
    const std::string folder = str("projects/p/locations/", split(name, '/')[3], "/nodes/");
    auto moved = nodes_.extract(folder + queued);
    CHECK(!moved.empty(), queued);
    moved.key() = folder + node;
    moved.mapped()["name"] = folder + node;
    nodes_.insert(std::move(moved));
    item["tpu"]["nodeSpec"][0]["nodeId"] = node;
  }
}

void FakeTpu::vanish(const std::string& name) {
  std::erase_if(nodes_, [&](const auto& each) {
    if (!each.first.ends_with("/" + name)) return false;
    suspend_queue_of(each.first);
    return true;
  });
}

std::map<std::string, std::string> FakeTpu::states() const {
  std::map<std::string, std::string> out;
  for (const auto& [name, node] : nodes_)
    out[str(split(name, '/')[3], "/", split(name, '/')[5])] = node.at("state");
  return out;
}

}  // namespace smelt::cloud
