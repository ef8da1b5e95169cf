"""What mkdocs does beyond its plugins: formulas become MathML, and notebooks become pages.

MathML is drawn by browsers themselves, so that a page needs neither a script nor the network; the font, which tells
where an index goes, is brought along.  A notebook is shown as it is kept: its text and its code, without what running
it would print.
"""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files as files_of
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

__all__ = ["FONT", "notebook_page", "on_files", "on_page_content", "with_formulas"]

FONT = "STIXTwoMath-Regular.ttf"

# As pymdownx.arithmatex marks them, which keeps Markdown's hands off them.
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the font of formulas, and a page for each notebook; the notebook itself stays beside it, to be run."""
    from mkdocs.structure.files import File  # noqa: PLC0415  mkdocs calls this, and has it

    font = files_of("ziamath").joinpath("fonts", FONT)
    files.append(File.generated(config, f"assets/{FONT}", abs_src_path=str(font)))
    for path in sorted(Path(config.docs_dir).glob("*.ipynb")):
        files.append(File.generated(config, f"{path.stem}.md", content=notebook_page(path)))
    return files


def on_page_content(html: str, **_others: Any) -> str:
    """Put MathML in the place of LaTeX."""
    return with_formulas(html)


def with_formulas(page: str) -> str:
    """A page in HTML with its formulas as MathML."""
    from latex2mathml.converter import convert  # noqa: PLC0415  only a page with formulas needs it

    def drawn(found: re.Match[str]) -> str:
        block = found[2] == "["
        formula: str = convert(html.unescape(found[3]), display="block" if block else "inline")
        return f'<div class="formula">{formula}</div>' if block else formula

    return _FORMULA.sub(drawn, page)


def notebook_page(path: Path) -> str:
    """A notebook as a page of Markdown."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    title, *others = parts
    return "\n\n".join([title, f"This page is [a notebook]({path.name}): run it to see what it shows.", *others])
