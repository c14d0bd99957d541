"""Runs Python scripts of the tests in forks of one process that has already imported TensorFlow and transformers.

    oracle_server.py start SOCKET    starts the server in the background; its output goes to SOCKET.log
    oracle_server.py stop SOCKET     ends it
    oracle_server.py run SCRIPT [ARGUMENTS]

The import takes four seconds of processor time, and some sixty tests run a script that needs it. `run` sends the script, its
arguments, its folder, its environment and its standard streams to the server at the socket SMELT_ORACLE_SERVER, and
ends with the script's exit status. The server forks itself for each script. Without a server `run` runs the script itself.
"""

import json
import os
import runpy
import signal
import socket
import struct
import sys
import traceback

CONNECTION = socket.AF_UNIX, socket.SOCK_STREAM
LONGEST_REQUEST = 1 << 20  # bytes
LONGEST_WAIT = 900  # the server ends after so many seconds without a script


def import_libraries():
    import onnx  # noqa: F401
    import onnxruntime  # noqa: F401
    import safetensors.numpy  # noqa: F401
    import tensorflow  # noqa: F401
    import transformers
    import transformers.modeling_tf_pytorch_utils  # noqa: F401

    for model in ("TFBertModel", "TFElectraModel", "TFT5Model", "AutoTokenizer", "BertTokenizerFast"):
        getattr(transformers, model)  # imports the module that defines it


def run_script(argv):
    """Runs the script argv[0] as `python argv` would, and returns its exit status."""
    sys.argv = argv
    sys.path[0] = os.path.dirname(os.path.abspath(argv[0]))
    try:
        runpy.run_path(argv[0], run_name="__main__")
        return 0
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1


def script_process(request, streams):
    """Never returns: becomes the script's process."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    status = run_script(request["argv"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 255)


def answer(connection):
    """Reads one request, runs its script in a new process, and sends its exit status, or 128 + n after signal n."""
    text, streams, _, _ = socket.recv_fds(connection, LONGEST_REQUEST, 3)
    while not text.endswith(b"\n"):
        more = connection.recv(LONGEST_REQUEST)
        if not more:
            return
        text += more
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process = os.fork()
    if process == 0:
        connection.close()
        script_process(json.loads(text), streams)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    connection.sendall(b"%d\n" % (status if status >= 0 else 128 - status))


def serve(listener):
    import_libraries()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps the children, which handle the requests
    listener.settimeout(LONGEST_WAIT)
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            connection.setblocking(True)
            answer(connection)
            os._exit(0)
        connection.close()


def start(path):
    """Clients may connect once this returns; they wait until the server has imported its libraries."""
    stop(path)
    listener = socket.socket(*CONNECTION)
    try:
        listener.bind(path)
    except OSError as error:  # a path of more than 107 characters
        print(f"{path}: {error}: each script runs in a new Python process")
        return
    listens, has_begun = os.pipe()
    if os.fork() == 0:
        os.setsid()
        log = os.open(path + ".log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, stream in enumerate((nothing, log, log)):
            os.dup2(stream, number)
        listener.listen(64)
        os.close(listens)
        os.close(has_begun)
        serve(listener)
    os.close(has_begun)
    os.read(listens, 1)


def stop(path):
    """Ends the server that listens at this path, if one does, by its process id."""
    with socket.socket(*CONNECTION) as connection:
        try:
            connection.connect(path)
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            os.kill(struct.unpack("3i", credentials)[0], signal.SIGTERM)
        except OSError:  # none does
            pass
    if os.path.exists(path):
        os.remove(path)


def run(argv):
    server = socket.socket(*CONNECTION)
    try:
        server.connect(os.environ.get("SMELT_ORACLE_SERVER", ""))
    except OSError:
        os.execv(sys.executable, [sys.executable, *argv])
    request = {"argv": argv, "folder": os.getcwd(), "environment": dict(os.environ)}
    text = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(server, [text], [0, 1, 2])
    server.sendall(text[sent:])
    status = server.makefile().readline()
    if not status:
        sys.exit(f"the server that {server.getpeername()} belongs to ended while {argv[0]} ran: read its log")
    sys.exit(int(status))


if __name__ == "__main__":
    {"start": lambda: start(sys.argv[2]), "stop": lambda: stop(sys.argv[2]), "run": lambda: run(sys.argv[2:])}[sys.argv[1]]()
