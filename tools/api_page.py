"""Writes ``docs/api.md`` from the signatures and docstrings of what is exported: ``make api``."""

from __future__ import annotations

import enum
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGES = (
    "parcomp",
    "parcomp.errors",
    "parcomp.model",
    "parcomp.privacy",
    "parcomp.overlap",
    "parcomp.graph",
    "parcomp.certificate",
    "parcomp.planning",
    "parcomp.estimation",
    "parcomp.custodian",
    "parcomp.client",
)
PAGE = Path(__file__).parent.parent / "docs" / "api.md"
WIDTH = 110
INTRODUCTION = """\
# The Python interface

Every name that outside code may import, with its signature. This page is written by `make api` from the docstrings.

```python
>>> import parcomp as pc
>>> domain = pc.Domain({"sex": pc.Categorical(["F", "M"]), "age": pc.Integer(0, 119)}, name="people")
>>> queries = [domain.query(sex="F"), domain.query(sex="M"), domain.query(age=pc.between(20, 39))]
>>> workload = pc.Workload(domain, queries, costs=[pc.Cost.of("epsilon", "0.1")] * 3)
>>> workload
<Workload: 3 queries on 'people', costs in epsilon>

```

What the three cost together is what one person can be counted in, here two of them:

```python
>>> answer = pc.max_overlap(workload)
>>> answer.upper, answer.exact, list(answer.members)
(0.2, True, [1, 3])
>>> pc.verify(workload, answer.certificate).upper
0.2
>>> pc.privacy_loss(workload).guarantee
'pure DP with ε = 0.2 against adding or removing one row, assuming that nobody has more'

```

A plan shares a budget out so that the answers are off by the least:

```python
>>> plan = pc.plan(workload, "pure", budget="0.2")
>>> [round(cost, 3) for cost in plan.costs], round(plan.loss, 3)
([0.117, 0.117, 0.083], 0.2)

```

Errors are one family, and those of bad values are `ValueError`s:

```python
>>> try:
...     pc.privacy_loss(workload, "renyi")
... except ValueError as error:
...     print(error)
unknown measure 'renyi'; there are pure, zcdp, gdp

```

The functions of f-DP are in `parcomp.privacy`: what two Gaussian mechanisms of μ = 0.6 and μ = 0.8 disclose together,
as the least δ at ε = 1.

```python
>>> from parcomp.privacy import Gaussian, tensor
>>> round(tensor([Gaussian(0.6), Gaussian(0.8)]).profile(1.0), 4)
0.1269

```
"""


class _Verbatim(str):
    """Text that stands in a signature as it is."""

    __slots__ = ()
    __repr__ = str.__str__


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(_package(name) for name in PACKAGES)])


def _package(name: str) -> str:
    package = import_module(name)
    entries = [_entry(exported, getattr(package, exported)) for exported in package.__all__]
    return f"## {name}\n\n{_first_paragraph(package)}\n\n" + "\n".join(entries)


def _entry(name: str, value: Any) -> str:
    lines = [f"### {name}", ""]
    if name == "__version__":
        return "\n".join([*lines, "The version that is installed, as text.", ""])
    if inspect.ismodule(value):
        return "\n".join([*lines, f"The module: see [below](#{value.__name__.replace('.', '')}).", ""])
    if not callable(value) or not getattr(value, "__module__", "").startswith("parcomp"):
        return "\n".join([*lines, f"    {name} = {_shortened(value)}", ""])
    if isinstance(value, type) and issubclass(value, enum.Enum):
        lines += [f"    {name}.{member.name} = {member.value!r}" for member in value]
    elif not (isinstance(value, type) and issubclass(value, Exception) and "__init__" not in vars(value)):
        lines += _indented(name + _signature(value))
    lines += ["", _first_paragraph(value), ""]
    if isinstance(value, type) and not issubclass(value, (enum.Enum, Exception)):
        lines += [*_members(value), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _members(kind: type) -> list[str]:
    """The public methods and properties of a class, each with what it says first."""
    listed = []
    for name, member in inspect.getmembers_static(kind):
        if name.startswith("_") or not inspect.getdoc(member) or inspect.ismemberdescriptor(member):
            continue
        if isinstance(member, property):
            listed.append(f"- `{name}`: {_first_paragraph(member)}")
        elif inspect.isroutine(member) or isinstance(member, (classmethod, staticmethod)):
            listed.append(f"- `{name}{_signature(getattr(kind, name), bound=True)}`: {_first_paragraph(member)}")
    return listed


def _signature(value: Any, *, bound: bool = False) -> str:
    signature = inspect.signature(value)
    parameters = [
        one.replace(annotation=_verbatim(one.annotation), default=_default(one.default))
        for one in signature.parameters.values()
        if not one.name.startswith("_") and not (bound and one.name == "self")
    ]
    returned = signature.empty if isinstance(value, type) else _verbatim(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=returned))


def _verbatim(annotation: Any) -> Any:
    return _Verbatim(annotation) if isinstance(annotation, str) else annotation


def _default(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _Verbatim(f"{type(value).__name__}.{value.name}")
    plain = value is inspect.Parameter.empty or isinstance(value, (str, int, float, type(None)))
    return value if plain else _Verbatim("…")


def _indented(signature: str) -> list[str]:
    """The signature as a block of code, an argument a line where it is long."""
    if len(signature) <= WIDTH:
        return [f"    {signature}"]
    opened, _, rest = signature.partition("(")
    arguments, _, returned = rest.rpartition(")")
    split = re.split(r", (?=[\w*/]+(?:[:,=]|$)|\*)", arguments)
    return [f"    {opened}(", *(f"        {one}," for one in split), f"    ){returned}"]


def _shortened(value: Any) -> str:
    text = str(value).replace("typing.", "") if getattr(value, "__module__", "") == "typing" else repr(value)
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def _first_paragraph(value: Any) -> str:
    """The first paragraph of a docstring on one line, Sphinx's roles and double back quotes as Markdown has them."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text).replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE.name}", file=sys.stderr)
