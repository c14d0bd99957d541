#!/usr/bin/env python3
"""Checks every #include "module/file.h" of src/ and tests/ against the modules' DEPS in CMakeLists.txt.

A module, or a submodule such as io/http, may include its own headers and those of its direct and indirect DEPS. No two
top-level modules may depend on each other. Tests may include any module; src/ must not include tests/. The namespace of
a file is its module: smelt::checkpoint in src/checkpoint and tests/checkpoint, and smelt in src/base and in files that
all tests share. No two headers of src/ may define a type of the same name in the same namespace: each submodule is a
separate library, so the linker would silently use one type's functions for the other.
Prints one line per fault and exits with 1 if there is any.

    tools/check_modules.py [ROOT] [--sizes]
"""
import argparse
import re
import sys
from collections import Counter
from pathlib import Path

MODULE = re.compile(r"^smelt_module\(([\w/]+)(?:\s+DEPS((?:\s+(?!LIBS)[\w/]+)+))?[^)]*\)", re.M)
DEFINITION = re.compile(r"^(?:struct|class|enum class|enum) (\w+)(?: final)?[^;(]*\{", re.M)
NAMESPACE = re.compile(r"^namespace (smelt[\w:]*) \{", re.M)
DECLARED_AHEAD = re.compile(r"^(?:template .*|(?:struct|class|enum)\b[^{]*;.*|//.*)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def allowed_modules(cmake):
    """Returns, for each module, the modules that it may include, and the faults of DEPS.

    DEPS may only name modules that are declared above, so that submodules have no cycle.
    """
    allowed, errors = {}, []
    for module, deps in MODULE.findall(cmake):
        allowed[module] = {module}
        for dep in deps.split():
            if dep not in allowed:
                errors.append(f"CMakeLists.txt: {module} depends on {dep}, which is not declared above it")
            allowed[module] |= allowed.get(dep, set())
    return allowed, errors


def top_level_cycles(allowed):
    """Returns a fault for each two top-level modules that depend on each other."""
    above = {}
    for module, reached in allowed.items():
        top = module.split("/")[0]
        above.setdefault(top, set()).update(dep.split("/")[0] for dep in reached)
    return [f"CMakeLists.txt: modules {one} and {other} depend on each other"
            for one in above for other in above[one] if one < other and one in above.get(other, set())]


def module_of(path, modules):
    """Returns the declared module of a file, given its path relative to src/, or None."""
    parts = path.split("/")[:-1]
    return next((name for count in (2, 1) if (name := "/".join(parts[:count])) in modules), None)


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found[1]


def wrong(root, path, name, allowed):
    """Returns why this include is wrong, or None."""
    base, place = str(path.relative_to(root)).split("/", 1)
    if base == "tests":
        known = any((root / folder / name).is_file() for folder in ("src", "tests"))
        return None if known else "no such file in src/ or tests/"
    if not (root / "src" / name).is_file():
        return "no such file in src/; includes are \"module/file.h\""
    module = "cli/commands" if place == "main.cpp" else module_of(place, allowed)
    target = module_of(name, allowed)
    if module is None:
        return f"{path.parent.relative_to(root)} is not a module in CMakeLists.txt"
    if target not in allowed[module]:
        return f"{module} may not use {target} (DEPS reach: {' '.join(sorted(allowed[module]))})"
    return None


# Namespaces besides those of the modules: the mirrors of PJRT's C API, and namespaces of tests.
OTHERS = {"src": {"smelt::pjrt_abi"}, "tests": {"smelt::pjrt_abi", "smelt::testing", "smelt::stand_in"}}


def opened_namespaces(text):
    """Yields (line, name, whether it contains only forward declarations) for each namespace smelt that a file opens."""
    for found in NAMESPACE.finditer(text):
        body = text[found.end():].split("\n}", 1)[0]
        is_ahead = all(DECLARED_AHEAD.match(line) for line in body.splitlines() if line.strip())
        yield text.count("\n", 0, found.start()) + 1, found[1], is_ahead


def namespaces(root, modules):
    """Returns a fault for each file in another module's namespace, which may only contain forward declarations."""
    tops = {module.split("/")[0] for module in modules} - {"base"}
    errors = []
    for base in ("src", "tests"):
        for path in sorted(p for p in (root / base).rglob("*") if p.suffix in (".h", ".cpp")):
            parts = path.relative_to(root / base).parts
            wanted = f"smelt::{parts[0]}" if parts[0] in tops and len(parts) > 1 else "smelt"
            for line, name, is_ahead in opened_namespaces(path.read_text()):
                if is_ahead or name == wanted or name in OTHERS[base]:
                    continue
                errors.append(f"{path.relative_to(root)}:{line}: namespace {name}: expected {wanted}, the module's")
    return errors


def same_names(root):
    first, errors = {}, []
    for path in sorted((root / "src").rglob("*.h")):
        text, place = path.read_text(), path.relative_to(root)
        opened = "::".join(name for _, name, is_ahead in opened_namespaces(text) if not is_ahead)
        for name in DEFINITION.findall(text):
            other = first.setdefault(f"{opened}::{name}", place)
            if other != place:
                errors.append(f"{place}: \"{opened}::{name}\" is also the name of a type in {other}")
    return errors


def check(root):
    allowed, errors = allowed_modules((root / "CMakeLists.txt").read_text())
    if not allowed:
        errors.append("CMakeLists.txt: no smelt_module(...) found")
    errors += top_level_cycles(allowed)
    for base in ("src", "tests"):
        for path in sorted(p for p in (root / base).rglob("*") if p.suffix in (".h", ".cpp")):
            for number, name in includes(path):
                if reason := wrong(root, path, name, allowed):
                    errors.append(f"{path.relative_to(root)}:{number}: \"{name}\": {reason}")
    return errors + namespaces(root, allowed) + same_names(root)


def sizes(root):
    """Prints the lines of each module and their share of src/."""
    lines = Counter()
    for path in (root / "src").rglob("*"):
        if path.suffix in (".h", ".cpp"):
            parts = path.relative_to(root / "src").parts
            for depth in range(1, len(parts)):
                lines["/".join(parts[:depth])] += len(path.read_text().splitlines())
    total = sum(count for name, count in lines.items() if "/" not in name)
    for name, count in sorted(lines.items()):
        print(f"{count:7d}  {100 * count / total:4.1f} %  {name}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("root", nargs="?", default=Path(__file__).parents[1], type=Path)
    p.add_argument("--sizes", action="store_true", help="print the lines of each module instead")
    args = p.parse_args()
    root = args.root.resolve()
    if args.sizes:
        return sizes(root)
    problems = check(root)
    print("\n".join(problems) or "modules: includes, namespaces and type names are correct")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
