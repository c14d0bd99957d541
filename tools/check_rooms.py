#!/usr/bin/env python3
"""Checks every #include "room/file.h" of src/ and tests/ against the rooms' DEPS in CMakeLists.txt.

A room may include itself and what its DEPS reach; tests may include any room; src/ never includes tests/.
No two headers of src/ may define a type of one name: each room is a library of its own, so the linker would take
one's functions for the other's and say nothing. Prints one line per fault and exits 1 if there is any.
"""
import re
import sys
from pathlib import Path

ROOM = re.compile(r"^smelt_room\((\w+)(?:\s+DEPS((?:\s+(?!LIBS)\w+)+))?[^)]*\)", re.M)
DEFINITION = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: final)?[^;(]*\{", re.M)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def allowed_rooms(cmake):
    """room -> the rooms that it may include. DEPS name only rooms above, so there is no cycle."""
    allowed, errors = {}, []
    for room, deps in ROOM.findall(cmake):
        allowed[room] = {room}
        for dep in deps.split():
            if dep not in allowed:
                errors.append(f"CMakeLists.txt: room {room} depends on {dep}, which is not a room above it")
            allowed[room] |= allowed.get(dep, set())
    return allowed, errors


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found[1]


def wrong(root, path, name, allowed):
    """Why this include is wrong, or None."""
    place = path.relative_to(root).parts
    target = name.split("/")[0]
    if place[0] == "tests":
        known = any((root / base / name).is_file() for base in ("src", "tests"))
        return None if known else "no such file in src/ or tests/"
    if not (root / "src" / name).is_file():
        return "no such file in src/; includes are \"room/file.h\""
    room = place[1] if len(place) > 2 else "cli"
    if room not in allowed:
        return f"room {room} is not declared in CMakeLists.txt"
    if target not in allowed[room]:
        return f"room {room} may not use room {target} (DEPS reach: {' '.join(sorted(allowed[room]))})"
    return None


def same_names(root):
    first, errors = {}, []
    for path in sorted((root / "src").rglob("*.h")):
        text, place = path.read_text(), path.relative_to(root)
        namespaces = "::".join(NAMESPACE.findall(text))
        for name in DEFINITION.findall(text):
            other = first.setdefault(f"{namespaces}::{name}", place)
            if other != place:
                errors.append(f"{place}: \"{namespaces}::{name}\" is also the name of a type in {other}")
    return errors


def check(root):
    allowed, errors = allowed_rooms((root / "CMakeLists.txt").read_text())
    if not allowed:
        errors.append("CMakeLists.txt: no smelt_room(...) found")
    for base in ("src", "tests"):
        for path in sorted(p for p in (root / base).rglob("*") if p.suffix in (".h", ".cpp")):
            for number, name in includes(path):
                if reason := wrong(root, path, name, allowed):
                    errors.append(f"{path.relative_to(root)}:{number}: \"{name}\": {reason}")
    return errors + same_names(root)


if __name__ == "__main__":
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve())
    print("\n".join(problems) or "rooms: every include follows the diagram, every type has a name of its own")
    sys.exit(bool(problems))
