"""drive_fake_tpu.py HOST:PORT: Google's own client of the TPU API (google-cloud-tpu, over REST) makes, lists, gets and
deletes nodes of the fake API, and sees its refusals. Standard input: a node's body as smelt writes it, which its message
types must know every field of."""
import sys

from google.api_core import exceptions
from google.auth import credentials
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport

client = tpu_v2.TpuClient(transport=TpuRestTransport(host=sys.argv[1], url_scheme="http",
                                                     credentials=credentials.AnonymousCredentials()))
parent = "projects/p/locations/us-central1-a"
node = tpu_v2.Node.from_json(sys.stdin.read(), ignore_unknown_fields=False)


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
queued = tpu_v2.QueuedResource(tpu={"node_spec": [{"parent": parent, "node_id": "q", "node": node}]})
client.create_queued_resource(parent=parent, queued_resource_id="q", queued_resource=queued)
found, = client.list_queued_resources(parent=parent)
assert found.state.state == tpu_v2.QueuedResourceState.State.WAITING_FOR_RESOURCES, found
client.delete_queued_resource(name=found.name)
assert not list(client.list_queued_resources(parent=parent))
print("as Google's client expects")
