"""drive_fake_tpu.py HOST:PORT: uses Google's own client of the TPU API (google-cloud-tpu, over REST) to create, list,
get and delete nodes of the fake API, and checks its errors. Standard input has the request bodies that smelt writes for
a node, a queued resource and new metadata. The client's message types must know every field of them."""
import json
import sys

from google.api_core import exceptions
from google.auth import credentials
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport

client = tpu_v2.TpuClient(transport=TpuRestTransport(host=sys.argv[1], url_scheme="http",
                                                     credentials=credentials.AnonymousCredentials()))
parent = "projects/p/locations/us-central1-a"
bodies = json.load(sys.stdin)
node = tpu_v2.Node.from_json(json.dumps(bodies["node"]), ignore_unknown_fields=False)


def make(name):
    return client.create_node(parent=parent, node_id=name, node=node).result(timeout=30)


for name in ("a", "b", "c"):
    made = make(name)
    assert made.state == tpu_v2.Node.State.READY and made.accelerator_type == node.accelerator_type, made
assert [n.name.split("/")[-1] for n in client.list_nodes(parent=parent)] == ["a", "b", "c"]
assert client.get_node(name=parent + "/nodes/b").network_endpoints[0].access_config.external_ip == "1.2.3.4"
for wrong, error in ((lambda: make("a"), exceptions.Conflict), (lambda: make("x_y"), exceptions.BadRequest),
                     (lambda: client.get_node(name=parent + "/nodes/z"), exceptions.NotFound)):
    try:
        wrong()
    except error:
        continue
    raise AssertionError(error)
client.delete_node(name=parent + "/nodes/b").result(timeout=30)
assert len(list(client.list_nodes(parent=parent))) == 2
assert [t.type_ for t in client.list_accelerator_types(parent=parent)] == ["v2-8", "v3-8"]
queued = tpu_v2.QueuedResource.from_json(json.dumps(bodies["queued"]), ignore_unknown_fields=False)
assert queued.queueing_policy.valid_until_duration.total_seconds() == 21600 and "spot" in queued, queued
client.create_queued_resource(parent=parent, queued_resource_id="q", queued_resource=queued)
found, = client.list_queued_resources(parent=parent)
State = tpu_v2.QueuedResourceState.State
states = [found.state.state] + [client.get_queued_resource(name=found.name).state.state for _ in range(3)]
assert states == [State.WAITING_FOR_RESOURCES] * 2 + [State.PROVISIONING, State.ACTIVE], states
made = client.get_node(name=parent + "/nodes/q")
assert made.state == tpu_v2.Node.State.READY and made.scheduling_config.spot and made.queued_resource == found.name, made
try:
    client.delete_queued_resource(name=found.name)
except exceptions.BadRequest:  # FAILED_PRECONDITION, because it has a node
    pass
else:
    raise AssertionError("a node was left behind")
changed = tpu_v2.Node.from_json(json.dumps(dict(bodies["metadata"], name=made.name)), ignore_unknown_fields=False)
client.update_node(node=changed, update_mask={"paths": ["metadata"]}).result(timeout=30)
assert client.get_node(name=made.name).metadata == bodies["metadata"]["metadata"]
asked = tpu_v2.GetGuestAttributesRequest(name=made.name, query_path="hostkeys/")
keys = client.get_guest_attributes(asked).guest_attributes
assert [w.query_value.items[0].value for w in keys] == ["AAAA1", "AAAA2"], keys
client.stop_node(tpu_v2.StopNodeRequest(name=made.name)).result(timeout=30)
assert client.get_node(name=made.name).state == tpu_v2.Node.State.STOPPED
client.delete_queued_resource(tpu_v2.DeleteQueuedResourceRequest(name=found.name, force=True)).result(timeout=30)
assert not list(client.list_queued_resources(parent=parent)) and len(list(client.list_nodes(parent=parent))) == 2
print("as Google's client expects")
