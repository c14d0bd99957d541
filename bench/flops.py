"""Counts the floating-point operations of the matmuls in a StableHLO text."""
import re


def dims(text):
    return [int(d) for d in text.split("x")[:-1]]


def product_flops(line):
    """Returns 2 x result x contracted dimensions of one dot_general, in pretty or generic syntax."""
    types = re.findall(r"tensor<([^>]*)>", line[line.rindex(" : ("):])
    contracted = re.search(r"lhs_contracting_dimensions = \[([\d, ]*)\]|contracting_dims = \[([\d, ]*)\]", line)
    axes = [int(a) for a in (contracted[1] or contracted[2] or "").split(",") if a.strip()] if contracted else []
    flops = 2
    for d in dims(types[2]) + [dims(types[0])[a] for a in axes]:
        flops *= d
    return flops


class FlopCounter:
    """Counts the matmul operations of each function in a module's text, following calls and loops."""

    def __init__(self, text):
        self.functions, lines = {}, []
        for line in text.splitlines():
            if found := re.search(r"func\.func (?:public |private )?@([\w.]+)", line):
                lines = self.functions.setdefault(found[1], [])
            lines.append(line)

    def count(self, name="main"):
        return self.block(iter(self.functions[name]))

    def block(self, lines, depth=None):
        total = 0
        for line in lines:
            indent = len(line) - len(line.lstrip())
            if "stablehlo.while" in line:
                total += self.loop(lines, indent)
            elif "dot_general" in line:
                total += product_flops(line)
            elif found := re.search(r"(?:func\.)?call @([\w.]+)", line):
                total += self.count(found[1])
            elif depth is not None and indent <= depth and line.strip().startswith("}"):
                return total
        return total

    def loop(self, lines, depth):
        """Counts a while loop, whose number of iterations is the largest constant in its condition."""
        trips = 0
        for line in lines:
            if re.search(r"\}(, \{| do \{)", line) or line.strip().startswith("} do"):
                break
            trips = max([trips] + [int(n) for n in re.findall(r"dense<(\d+)> : tensor<i(?:32|64)>", line)])
        assert trips, "a loop whose condition contains no number"
        return trips * self.block(lines, depth)
