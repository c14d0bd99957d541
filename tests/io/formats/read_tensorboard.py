"""Prints the histograms, texts and hyperparameters that TensorBoard's own reader reads from a folder of event files."""
import sys
import types

# With this module TensorBoard uses its own reader instead of importing TensorFlow, which takes seconds.
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

everything = {name: 0 for name in (event_accumulator.TENSORS, event_accumulator.SCALARS)}
events = plugin_event_accumulator.EventAccumulator(sys.argv[1], size_guidance=everything)
events.Reload()
for tag in sorted(events.Tags()["tensors"]):
    metadata = events.SummaryMetadata(tag)
    plugin = metadata.plugin_data.plugin_name
    for event in events.Tensors(tag):
        if plugin == "hparams":
            data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
            found = {}
            for name, value in sorted(data.session_start_info.hparams.items()):
                found[name] = getattr(value, value.WhichOneof("kind"))
            print(f"step {event.step} {plugin}", found)
            continue
        value = tensor_util.make_ndarray(event.tensor_proto)
        if plugin == "histograms":
            total = sum(row[2] for row in value)
            print(f"step {event.step} {plugin} {tag}: {total:g} from {value[0][0]:g} to {value[-1][1]:g}")
        elif plugin == "text":
            print(f"step {event.step} {plugin} {tag}: {value.item().decode()}")
        else:
            print(f"step {event.step} {plugin} {tag}: {value.item():g}")
