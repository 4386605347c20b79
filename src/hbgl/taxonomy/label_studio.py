"""Label Studio's labelling configuration: the ``Choice`` tags inside its ``Taxonomy`` tag.

    <View><Taxonomy name="topic" toName="text">
      <Choice value="Science"><Choice value="Physics" alias="phys"/></Choice>
    </Taxonomy></View>

Label Studio writes a choice's alias into its results where there is one, so the alias is the
label and the value its words.
"""

from __future__ import annotations

from xml.parsers import expat

from hbgl.errors import Fault, TaxonomyError
from hbgl.taxonomy.draft import NO_PARENT, Draft
from hbgl.taxonomy.names import quoted
from hbgl.taxonomy.paths import PathForest, Repeated

__all__ = ["parse_xml", "read_label_studio"]


def read_label_studio(content: bytes, draft: Draft, *, repeated: Repeated = "join") -> None:
    """Read the only ``Taxonomy`` tag of a configuration."""
    reader = _Choices(draft)
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, attributes: reader.start(
        tag, attributes, parser.CurrentLineNumber
    )
    parser.EndElementHandler = reader.end
    parse_xml(parser, content, draft.file)
    if reader.taxonomies == 0:
        draft.fault("there is no <Taxonomy> tag")
    reader.forest.finish(repeated)


def parse_xml(parser: expat.XMLParserType, content: bytes, file: str | None) -> None:
    """Run an expat parser over bytes; document types, and with them entities, are refused."""

    def refuse(*_: object) -> None:
        fault = Fault(
            "a DOCTYPE may define entities that grow without end, so it is not read; remove it "
            "and write its entities out",
            file,
            parser.CurrentLineNumber,
        )
        raise TaxonomyError("the taxonomy cannot be read", [fault])

    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        fault = Fault(f"broken XML: {expat.ErrorString(error.code)}", file, error.lineno)
        raise TaxonomyError("the taxonomy cannot be read", [fault]) from error
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        fault = Fault(f"broken XML: {error}", file, parser.CurrentLineNumber)
        raise TaxonomyError("the taxonomy cannot be read", [fault]) from error


class _Choices:
    """Follows the tags, and builds the tree of the choices that are open."""

    def __init__(self, draft: Draft) -> None:
        self.forest = PathForest(draft)
        self.taxonomies = 0
        self._draft = draft
        self._inside = False
        self._open: list[int] = []

    def start(self, tag: str, attributes: dict[str, str], line: int) -> None:
        """A tag begins."""
        if tag == "Taxonomy":
            self._start_taxonomy(attributes, line)
        elif tag == "Choice" and self._inside:
            self._open.append(self._choice(attributes, line))

    def end(self, tag: str) -> None:
        """A tag ends."""
        if tag == "Taxonomy":
            self._inside = False
        elif tag == "Choice" and self._inside:
            self._open.pop()

    def _start_taxonomy(self, attributes: dict[str, str], line: int) -> None:
        self.taxonomies += 1
        self._inside = True
        if self.taxonomies > 1:
            self._draft.fault("a second <Taxonomy> tag; one taxonomy per file", line)
        if "apiUrl" in attributes:
            self._draft.fault(
                "the choices are kept elsewhere (apiUrl); download them and read that file", line
            )

    def _choice(self, attributes: dict[str, str], line: int) -> int:
        parent = self._open[-1] if self._open else NO_PARENT
        value = attributes.get("value", "")
        name = attributes.get("alias") or value
        if not name.strip():
            self._draft.fault("empty name: a <Choice> without a value", line)
            return parent
        if not self._open and self.forest.begin(name, line):
            return NO_PARENT
        words = value if value.strip() and name != value else None
        node, new = self.forest.step(parent, name, line, words)
        if not new:
            self._draft.fault(f"duplicate sibling {quoted(name)}", line)
        return node
