"""Checks the output of smelt pod manifest against published schemas: check_manifest.py jobset|skypilot FILE.

The schemas are those of Kubernetes and JobSet in kubeflow-trainer-api, and SkyPilot's own. Fails if a schema does not
know a field or expects another type. Prints the documents as JSON.
"""
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path
from unittest.mock import MagicMock

import yaml


def without_nulls(value):
    if isinstance(value, dict):
        return {name: without_nulls(v) for name, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def check_jobset(documents):
    from kubeflow_trainer_api import models

    kinds = {"ConfigMap": models.IoK8sApiCoreV1ConfigMap, "JobSet": models.JobsetV1alpha2JobSet}
    for document in documents:
        read = without_nulls(json.loads(kinds[document["kind"]].from_dict(document).to_json()))
        assert read == document, f"the schema reads {read}"


class Names:
    ALL_CLOUDS = ("gcp", "kubernetes")

    def __getattr__(self, name):
        return name


def check_skypilot(documents):
    import jsonschema

    # Loads only the schemas, without the rest of SkyPilot, from which they need only lists of names.
    (place,) = [f for f in importlib.metadata.files("skypilot") if str(f) == "sky/utils/schemas.py"]
    for name in ("sky", "sky.utils"):
        sys.modules[name] = MagicMock()
    sys.modules["sky.skylet"] = MagicMock(constants=Names())
    spec = importlib.util.spec_from_file_location("schemas", place.locate())
    schemas = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(schemas)
    schemas._task_config_schema = dict  # of a field that smelt does not write; needs the rest of SkyPilot

    (document,) = documents
    jsonschema.Draft202012Validator(schemas.get_task_schema()).validate(document)
    jsonschema.Draft202012Validator(schemas._get_single_resources_schema()).validate(document["resources"])


kind, path = sys.argv[1:]
found = list(yaml.safe_load_all(Path(path).read_text()))
{"jobset": check_jobset, "skypilot": check_skypilot}[kind](found)
print(json.dumps(found))
