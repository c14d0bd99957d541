// A fake of Google's TPU API v2 with its state: nodes, queued resources, operations, and the quota
// and capacity of each zone. It is also tested with Google's own client
// (tests/cloud/drive_fake_tpu.py).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "support/http_server.h"

namespace smelt::cloud {

class FakeTpu {
 public:
  struct Zone {
    std::vector<std::string> types{"v2-8", "v3-8"};
    std::vector<std::string> versions{"tpu-ubuntu2204-base", "tpu-vm-base"};
    int capacity = 100;  // maximum number of nodes
    bool answers = true;
    bool queue_moves = true;
  };
  FakeTpu();

  std::map<std::string, Zone> zones;
  int quota = 100;                        // maximum number of nodes in a zone, including lost ones
  int polls = 2;                          // polls of an operation until it is done
  std::size_t page = 2;                   // items on a page; the requested page size is ignored
  std::deque<ServedAnswer> faults;        // returned in place of the next responses
  std::deque<ServedAnswer> lost_answers;  // returned in place of the next responses to POST
  bool obeys_lost = true;                 // whether these POST requests are executed anyway
  // Whether the creation or deletion of a node also completes without a poll of its operation,
  // after `node_looks` requests for the node.
  bool completes_unasked = false;
  int node_looks = 1;
  int hidden_looks = 0;         // requests for a new node until it appears
  bool lists_all_zones = true;  // whether the zone "-" lists all zones
  int queue_looks = 2;          // requests for a queued resource until its turn comes
  std::string queue_fault;      // error with which a queued resource fails at its turn; "": none
  double seconds = 1795455602;  // the current time, in seconds since 1970
  // Behavior of the real servers.
  double out_until = 0;               // value of `seconds` until which no request gets a response
  double addresses_after = 0;         // seconds from READY until a node shows its addresses
  std::deque<Json> operation_errors;  // errors of the next node creations, which create no node
  std::deque<ServedAnswer> change_faults;  // returned in place of responses to metadata changes
  bool requires_quota_project = false;     // whether every request must name a quota project
  // Internal and external address of each worker, the same for every node.
  std::vector<std::pair<std::string, std::string>> addresses{{"10.0.0.2", "1.2.3.4"}};
  // Called with new metadata, in place of the guest agent of each worker.
  std::function<void(const Json& metadata)> on_metadata;
  // Host keys of each worker, as guest attributes; if empty, requests for them are denied.
  std::vector<std::map<std::string, std::string>> host_keys;

  ServedAnswer serve(const ServedRequest& request);
  // Preempts a node like Google: it remains and uses quota, and its queued resource is suspended.
  void preempt(const std::string& name);
  // Removes a node, as if somebody else had deleted it.
  void vanish(const std::string& name);
  // Renames the node that the queued resource `queued` has created.
  void rename_node(const std::string& queued, const std::string& node);
  // Completes the creation or deletion of the node "zone/name" now, without any request for it.
  void finish(const std::string& name);
  Json node(const std::string& name) const { return nodes_.at(full(name)); }
  // Returns the states of all nodes by "zone/name", and the number of queued resources.
  std::map<std::string, std::string> states() const;
  std::size_t queue_length() const { return queued_.size(); }

 private:
  struct Operation {
    Json body;
    std::string node;  // the node that it creates or deletes
    bool deletes = false;
    int left = 0;
    std::optional<Json> error;
  };

  ServedAnswer route(const ServedRequest& request, const std::vector<std::string>& parts);
  ServedAnswer nodes(const ServedRequest& request, const std::string& zone);
  ServedAnswer queue(const ServedRequest& request, const std::string& zone);
  ServedAnswer one(const ServedRequest& request, std::map<std::string, Json>& all,
                   const std::string& name);
  ServedAnswer verb(const ServedRequest& request, const std::string& name);
  static std::string full(const std::string& name);
  void complete(const std::string& name);
  void become_ready(Json& node);
  // Adds the addresses to a READY node once `addresses_after` seconds have passed.
  void show_addresses(Json& node);
  // Moves a queued resource one step closer to its turn, or to its next state.
  void advance(Json& queued);
  void suspend_queue_of(const std::string& node);
  ServedAnswer create(const Json& body, const std::string& zone, const std::string& id);
  ServedAnswer poll(const std::string& name);
  ServedAnswer page_of(const char* field, const std::vector<Json>& items, const std::string& query,
                       const std::vector<std::string>& unreachable = {}) const;
  Json begin(const std::string& zone, const std::string& node, bool deletes,
             std::optional<Json> error = {});
  Json endpoints() const;
  std::string now() const;
  int count_in(const std::string& zone) const;

  std::map<std::string, Json> nodes_, queued_;  // by full name
  std::map<std::string, Operation> operations_;
  bool is_hidden(const std::string& name) const;

  std::map<std::string, int> looks_, hidden_;
  std::map<std::string, double> ends_;      // when queued resources expire, by `seconds`
  std::map<std::string, double> ready_at_;  // when nodes became READY, by `seconds`
  int made_ = 0;
};

}  // namespace smelt::cloud
