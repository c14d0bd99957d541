// Client of Google's TPU API, v2 (cloud.google.com/tpu/docs/reference/rest/v2): nodes, queued
// resources, and the types and versions of each zone.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "cloud/google_api.h"

namespace smelt::cloud {

// The zone argument that lists resources of all zones.
inline constexpr const char* kAllZones = "-";

// A TPU machine.
struct TpuNode {
  std::string name, zone;        // "a", "us-central1-b"
  std::string accelerator_type;  // "v3-8"
  std::string runtime_version;
  std::string state;  // "READY"; may be a value unknown to smelt
  std::string health;
  std::string create_time;                      // RFC 3339
  std::string queued_resource;                  // the queued resource that created it, or ""
  bool is_spot = false;                         // spot or preemptible: may be preempted
  std::vector<std::string> addresses;           // internal address of each worker
  std::vector<std::string> external_addresses;  // "" for a worker without one
  std::map<std::string, std::string> labels, metadata;

  // Returns whether the node is unusable and only occupies quota until it is deleted.
  bool is_lost() const { return state == "PREEMPTED" || state == "TERMINATED"; }
};

// Returns the creation time in seconds since 1970; 0 if it cannot be parsed.
double created_at(const TpuNode& node);

// A queued resource.
struct TpuQueued {
  std::string name, zone;
  std::string state;  // "WAITING_FOR_RESOURCES"
  std::string accelerator_type;
  std::string create_time;
  std::string node;   // name of the node that it creates
  std::string fault;  // why it failed, or ""
  bool is_spot = false;

  // Returns whether the queued resource will never become a node. It exists until it is deleted.
  bool is_lost() const {
    return state == "FAILED" || state == "SUSPENDING" || state == "SUSPENDED";
  }
};

// The properties of a node to create.
struct NodeSpec {
  std::string accelerator_type, runtime_version;
  bool spot = false;
  std::string network = {}, subnetwork = {};  // "" = the project's default
  bool external_ips = true;
  std::string service_account = {};  // "" = the project's default
  std::map<std::string, std::string> labels = {}, metadata = {};
  bool reserved = false;  // use the project's reserved capacity
};

// How long and for which reservation to wait in the queue.
struct QueueSpec {
  std::string reservation = {};       // its name; "" = none
  std::chrono::seconds valid_for{0};  // expires after this; 0: never
};

// Return the API's request bodies, without fields that keep their defaults.
Json node_body(const NodeSpec& spec);
Json queued_body(const std::string& project, const std::string& zone, const std::string& name,
                 const NodeSpec& spec, const QueueSpec& queue);
// Parses a node in a response; missing fields become empty.
TpuNode parse_node(const Json& node);

// Throws UsageError "cloud: …" for a name that Google forbids. Names have 1 to 63 characters of
// a-z, 0-9 and '-', begin with a letter and do not end with '-'.
void require_name(const std::string& name);

// Throws UsageError "cloud: …" unless the text has the form of a zone, such as us-central1-a.
void require_zone(const std::string& zone);
std::string region_of(const std::string& zone);  // "us-central1" for "us-central1-b"
// Splits a comma-separated list and removes duplicates. Does not check the names.
std::vector<std::string> split_zones(const std::string& list);

// The result of a list request: the items, and zones that did not respond.
template <class Item>
struct TpuList {
  std::vector<Item> items;
  std::vector<std::string> unreachable;
};

// Throws UsageError for a zone that is not in the list of zones with TPUs.
void require_known(const std::string& zone, const std::vector<std::string>& known);

// Requests to the TPU API for one project. Refusals are thrown by throw_fault() unless a function
// says otherwise. Not thread-safe.
class TpuApi {
 public:
  TpuApi(GoogleApi& api, std::string project) : api_(api), project_(std::move(project)) {}

  // Returns the zones with TPUs, sorted.
  std::vector<std::string> zones();
  void require_zones(const std::vector<std::string>& asked);  // throws unless all are known
  std::vector<std::string> accelerator_types(const std::string& zone);
  std::vector<std::string> runtime_versions(const std::string& zone);
  TpuList<TpuNode> nodes(const std::string& zone);
  TpuList<TpuQueued> queued(const std::string& zone);
  std::optional<TpuNode> node(const std::string& zone, const std::string& name);

  // A started operation, or the refusal of the request, because some refusals call for another
  // zone. The request is sent once: after an error look for the node, which may have been created.
  struct Begun {
    std::string operation;
    std::optional<ApiFault> fault;
  };
  Begun create(const std::string& zone, const std::string& name, const NodeSpec& spec);
  // Queues a resource of this name, which creates the node when it is granted. Returns the
  // operation or the refusal, as create() does.
  Begun enqueue(const std::string& zone, const std::string& name, const NodeSpec& spec,
                const QueueSpec& queue);
  std::optional<TpuQueued> queued_one(const std::string& zone, const std::string& name);
  // Deletes a queued resource and its node. Returns the operation, or nullopt if it does not exist.
  std::optional<std::string> dequeue(const std::string& zone, const std::string& name);
  // Starts the operation "start" or "stop". Returns nullopt if the node does not exist.
  std::optional<std::string> begin_on(const std::string& zone, const std::string& node,
                                      const char* verb);
  // Replaces all of a node's own metadata. Returns a refusal instead of throwing it, because
  // another change may be in progress and the caller can retry.
  Begun set_metadata(const std::string& zone, const std::string& node,
                     const std::map<std::string, std::string>& metadata);
  // Returns the guest attributes below `path`, such as "hostkeys/", of each worker in order; empty
  // if the project does not permit it.
  std::vector<std::map<std::string, std::string>> guest_attributes(const std::string& zone,
                                                                   const std::string& node,
                                                                   const std::string& path);
  // Deletes a node. Returns the operation, or nullopt if the node does not exist.
  std::optional<std::string> remove(const std::string& zone, const std::string& name);
  // Whether an operation has ended, and its error if it failed. An operation that the API no longer
  // finds has ended.
  struct Progress {
    bool done = false;
    std::optional<ApiFault> fault = {};
  };
  Progress progress(const std::string& operation);

 private:
  // Returns the response body, or nullopt if the API reports that the resource does not exist.
  // Throws SystemError or UsageError for other errors.
  std::optional<Json> unless_missing(const ApiAnswer& answer, const std::string& what) const;
  std::optional<std::string> operation_of(const ApiAnswer& answer, const std::string& what) const;
  std::string in_zone(const std::string& zone, std::string_view what) const;
  // Returns all pages of the list in `field` and adds unreachable zones. If the API does not have
  // the list, sets `is_unknown` to true if it is given, and throws otherwise.
  Json list(const std::string& path, const char* field, const std::string& what,
            std::vector<std::string>* unreachable = nullptr, bool* is_unknown = nullptr);

  // Returns the list in `field` ("nodes") of a zone, or of all zones if `zone` is kAllZones.
  TpuList<Json> in_zones(const std::string& zone, const char* field, const std::string& what);

  GoogleApi& api_;
  std::string project_;
};

}  // namespace smelt::cloud
