#!/usr/bin/env python3
"""Packs a build of smelt for other machines: a folder as tar.zst, and a wheel. Both contain all libraries except those
of glibc and gcc. docs/guides/package.md describes the contents.

    tools/package.py BUILD DIR [--fast]

--fast stores the wheel's files without compression, which is enough for tests.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Libraries that are not packaged: a second copy of glibc does not start, and gcc's libraries may be too old for a plugin.
SYSTEM = re.compile(r"(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|anl|stdc\+\+|gcc_s))\.so\.\d+")
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30)}  # versions of Ubuntu 22.04; those of Debian 12 are not older
TAG = "manylinux_2_35_x86_64"
PLUGINS = "lib/smelt/xla_plugins/"  # the wheel has the CPU plugin's own wheel as a requirement instead
MOST_BYTES = 100_000_000  # limit of the public package index for one file


def fail(what, hint):
    sys.exit(f"error: {what}\nhint: {hint}")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """Returns name → file of each library that the loader opens for the program, without those of the system."""
    found = {}
    for name, file in re.findall(r"^\s*(\S+) => (.*?) *(?:\(0x\w+\))?$", output("ldd", str(program)), re.M):
        if file == "not found":
            fail(f"{program} needs {name}, which was not found", "run scripts/build")
        if not SYSTEM.fullmatch(name):
            found[name] = Path(file)
    return found


def asked_versions(file):
    """Returns the symbol versions that the file needs from other libraries: (GLIBC, (2, 34)), …"""
    asked = output("objdump", "-p", str(file)).partition("Version References:")[2]
    return {(kind, tuple(map(int, number.split(".")))) for kind, number in re.findall(r"\b(GLIBC|GLIBCXX)_([\d.]+)\b", asked)}


def check_versions(folder):
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.open("rb").read(4) == b"\x7fELF":
            for kind, version in asked_versions(file):
                if version > NEWEST[kind]:
                    dotted = [".".join(map(str, v)) for v in (version, NEWEST[kind])]
                    fail(f"{file.name} asks for {kind}_{dotted[0]}; the package promises {kind}_{dotted[1]}",
                         "build on Debian 12 or Ubuntu 22.04, or link that library in")


def keep_licences(files, folder):
    """Copies the licence files of the libraries' Debian and PyPI packages."""
    folder.mkdir()
    for file in files:
        owner = subprocess.run(["dpkg", "-S", os.path.realpath(file)], capture_output=True, text=True).stdout.split(":")[0]
        text = Path("/usr/share/doc", owner, "copyright")
        if owner and text.exists():
            shutil.copyfile(text, folder / owner)
    for info in (ROOT / ".venv/lib").glob("python3*/site-packages/*.dist-info"):
        if info.name.startswith(("pyarrow-", "xla_cpu_pjrt-")):
            for text in [*info.rglob("LICENSE*"), *info.rglob("NOTICE*")]:
                shutil.copyfile(text, folder / f"{info.name.split('-')[0]}-{text.name}")
    shutil.copyfile(ROOT / "LICENSE", folder / "smelt")


def make_folder(build, folder):
    subprocess.run(["cmake", "--install", str(build), "--prefix", str(folder), "--strip"], check=True, stdout=subprocess.DEVNULL)
    inside = folder / "lib/smelt"
    needed = {**libraries(folder / "bin/smelt"), **libraries(inside / "libsmelt.so")}
    brought = {name: file for name, file in needed.items() if not file.is_relative_to(folder)}
    for name, file in brought.items():
        shutil.copyfile(file, inside / name)
    keep_licences(brought.values(), inside / "licences")
    check_versions(folder)


def locked(device):
    """Returns the plugin's packages as requirements of the wheel."""
    lock = (ROOT / "requirements" / f"{device}.lock").read_text()
    return [f'Requires-Dist: {pin}; extra == "{device}"' for pin in re.findall(r"^([\w.-]+==[\w.]+)", lock, re.M)]


def cpu_plugin():
    """Returns the requirement of the CPU plugin, which every installation needs."""
    return re.search(r"^xla-cpu-pjrt==[\w.]+", (ROOT / "requirements/run.lock").read_text(), re.M)[0]


def metadata(version):
    extras = [line for device in ("tpu", "gpu") for line in [f"Provides-Extra: {device}", *locked(device)]]
    notebook = ["numpy", "pandas", "tqdm", "matplotlib"]
    return "\n".join([
        "Metadata-Version: 2.1", "Name: smelt-lm", f"Version: {version}", "Requires-Python: >=3.9", "License: Apache-2.0",
        "Summary: from raw text to a pre-trained, fine-tuned, compressed language model on TPUs, GPUs and CPUs",
        f"Requires-Dist: {cpu_plugin()}", "Requires-Dist: numpy", *extras,
        "Provides-Extra: notebook", *(f'Requires-Dist: {name}; extra == "notebook"' for name in notebook),
        "Description-Content-Type: text/markdown", "", (ROOT / "python/README.md").read_text()])


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def make_wheel(folder, version, wheel, compression):
    """Writes a wheel, in the binary distribution format of PyPA's specifications."""
    info = f"smelt_lm-{version}.dist-info"
    texts = {f"{info}/METADATA": metadata(version),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: smelt\nRoot-Is-Purelib: false\nTag: py3-none-{TAG}\n",
             f"{info}/entry_points.txt": "[console_scripts]\nsmelt = smelt_lm._program:main\n"}
    record = ""
    with zipfile.ZipFile(wheel, "w") as out:
        def add(name, data, mode):
            nonlocal record
            entry = zipfile.ZipInfo(name)  # has a fixed date in 1980, so that the same files give the same wheel
            entry.external_attr, entry.compress_type = (0o100000 | mode) << 16, compression
            out.writestr(entry, data)
            record += record_line(name, data)

        for file in sorted(f for f in folder.rglob("*") if f.is_file()):
            name = str(file.relative_to(folder))
            if not name.startswith(PLUGINS):
                add(f"smelt_lm/{name}", file.read_bytes(), file.stat().st_mode & 0o777)
        for file in sorted((ROOT / "python/smelt_lm").iterdir()):
            if file.is_file():
                add(f"smelt_lm/{file.name}", file.read_bytes(), 0o644)
        for name, text in texts.items():
            add(name, text.encode(), 0o644)
        add(f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644)


def main():
    fast = "--fast" in sys.argv[1:]
    build, out = (Path(argument).resolve() for argument in sys.argv[1:] if argument != "--fast")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as scratch:
        folder = Path(scratch) / "smelt"
        make_folder(build, folder)
        version = output(str(folder / "bin/smelt"), "--version").strip()
        made = [f"smelt-{version}-linux-x86_64.tar.zst", f"smelt_lm-{version}-py3-none-{TAG}.whl"]
        subprocess.run(["cmake", "-E", "tar", "cf", f"../{made[0]}.part", "--zstd", "--mtime=1980-01-01", "smelt"], cwd=scratch, check=True)
        make_wheel(folder, version, out / f"{made[1]}.part", zipfile.ZIP_STORED if fast else zipfile.ZIP_DEFLATED)
        size = (out / f"{made[1]}.part").stat().st_size
        if size > MOST_BYTES and not fast:
            fail(f"{made[1]} has {size} bytes; at most {MOST_BYTES} can be uploaded", "leave large files out of the wheel")
        for name in made:
            (out / f"{name}.part").replace(out / name)
    for name in made:
        data = (out / name).read_bytes()
        print(f"{hashlib.sha256(data).hexdigest()}  {out / name}  {len(data) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
