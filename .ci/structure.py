"""Count what keeps the code easy to read, and fail where a count is above its limit.

``python .ci/structure.py`` prints each count beside its limit; ``--list`` names what counts.
A limit is what has been reached: it is lowered with the count, and raised only for a reason that
the commit's message gives.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "aucmax"
LIMITS = {
    "packages": 13,
    "code lines": 50_525,
    "functions above 60 lines": 0,
    "functions above 10 parameters": 0,
    "kernels above 8 parameters": 0,
    "vague locals": 7,
}
LINES_OF_A_FUNCTION = 60
PARAMETERS = 10
PARAMETERS_OF_A_KERNEL = 8
# decorators of what Numba compiles
KERNELS = {"allocating", "compiled", "vectorised", "inlined", "njit"}
LINES_OF_A_DOOR = 15  # of a module that only gives a public name to what stands elsewhere
DOORS = ["", "additive", "datasets", "metrics", "objective/penalties", "plots", "solvers", "theory"]
DOORS += ["distributed", "export", "river"]
VAGUE = {
    *("found", "given", "known", "seen", "there", "here", "got", "thing", "things", "stuff"),
    *("one", "ones", "what", "some", "out", "other", "both", "whole", "this", "that", "why", "how"),
    *("taken", "wanted", "told", "said", "made", "res", "tmp", "val", "bad", "good"),
}
NOT_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    tokenize.ENDMARKER,
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """A module: its path below the package, its syntax, also as all nodes, and its code lines."""

    path: Path
    tree: ast.Module
    nodes: list[ast.AST]
    lines: set[int]

    def functions(self) -> Iterator[tuple[str | None, Function]]:
        """Give each function with the name of its class, None outside of one."""
        methods = {
            node: scope.name
            for scope in self.nodes
            if isinstance(scope, ast.ClassDef)
            for node in scope.body
        }
        for node in self.nodes:
            if isinstance(node, Function):
                yield methods.get(node), node

    def code(self, node: Function) -> int:
        """Return the code lines of a function; docstrings, comments and blank lines are none."""
        return len(self.lines.intersection(range(node.lineno, (node.end_lineno or 0) + 1)))


def read(path: Path) -> Module:
    text = path.read_text()
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    docstrings: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | Function) and ast.get_docstring(node):
            docstrings.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return Module(path.relative_to(PACKAGE), tree, nodes, lines - docstrings)


def dotted(module: Module) -> str:
    """Return the name of a module below the package, "" for the package itself."""
    return ".".join(module.path.with_suffix("").parts).removesuffix("__init__").strip(".")


def public_names(modules: list[Module]) -> set[tuple[str, str]]:
    """Return (module, name) of what users get from the public modules, where it is defined."""
    origins = {
        (dotted(module), alias.name): ((node.module or "").removeprefix("aucmax."), alias.name)
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aucmax.")
        for alias in node.names
    }
    public = {name for name in origins if name[0].replace(".", "/") in DOORS}
    while imported := public & origins.keys():
        public = (public - imported) | {origins[name] for name in imported}
    own = {
        (dotted(module), node.name)
        for module in modules
        if dotted(module).replace(".", "/") in DOORS
        for node in module.tree.body
        if isinstance(node, ast.ClassDef | Function)
    }
    return public | own


def parameters(node: Function) -> int:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return sum(argument.arg not in ("self", "cls") for argument in named)


def is_kernel(node: Function) -> bool:
    """Return whether one of the decorators, called or not, makes a function a kernel."""
    names = {
        name.id if isinstance(name, ast.Name) else name.attr
        for decorator in node.decorator_list
        for name in ast.walk(decorator)
        if isinstance(name, ast.Name | ast.Attribute)
    }
    return bool(names & KERNELS)


def counted() -> dict[str, list[str]]:
    """Return, by name of the count, a line for each thing that counts."""
    modules = [read(path) for path in sorted(PACKAGE.rglob("*.py"))]
    public = public_names(modules)
    rooms = {module.path.parts[0] for module in modules if len(module.path.parts) > 1}
    rooms |= {
        module.path.name
        for module in modules
        if len(module.path.parts) == 1 and len(module.lines) > LINES_OF_A_DOOR
    } - {"__init__.py", "__main__.py"}
    counts: dict[str, list[str]] = {name: [] for name in LIMITS}
    counts["packages"] = sorted(rooms)
    for module in modules:
        counts["code lines"] += [str(module.path)] * len(module.lines)
        for scope, node in module.functions():
            label = f"{module.path}:{node.lineno} {f'{scope}.' if scope else ''}{node.name}"
            if (lines := module.code(node)) > LINES_OF_A_FUNCTION:
                counts["functions above 60 lines"].append(f"{label}: {lines}")
            is_public = (dotted(module), scope or node.name) in public
            if (number := parameters(node)) > PARAMETERS and not is_public:
                counts["functions above 10 parameters"].append(f"{label}: {number}")
            if is_kernel(node) and number > PARAMETERS_OF_A_KERNEL:
                counts["kernels above 8 parameters"].append(f"{label}: {number}")
        counts["vague locals"] += [
            f"{module.path}:{node.lineno} {node.id}"
            for node in module.nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
        ]
    return counts


def main() -> int:
    counts = counted()
    above = 0
    for name, things in counts.items():
        above += len(things) > LIMITS[name]
        verdict = "above its limit" if len(things) > LIMITS[name] else ""
        print(f"{name:32} {len(things):>7,} of {LIMITS[name]:>7,}  {verdict}".rstrip())
        if "--list" in sys.argv and name != "code lines":
            print(*(f"    {thing}" for thing in things), sep="\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
