"""An explanation as one self-contained HTML page: no script, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from hbgl.explanation.explain import Explanation, LabelExplanation, PathNode, Word

__all__ = ["explanation_page"]

_STRONGEST = 0.8
"""Opacity behind the word that did most."""
_LISTED = 8
"""Words whose numbers are listed: those that did most."""
_LONGEST_WORD = 40

_STYLE = """\
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --soft: #666; --line: #ddd;
  --for: 217 119 6; --against: 37 99 235; }
@media (prefers-color-scheme: dark) { :root { --paper: #161616; --ink: #ececec; --soft: #a0a0a0;
  --line: #3a3a3a; --for: 217 130 20; --against: 70 120 240; } }
body { background: var(--paper); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif;
  max-width: 46rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; margin: 0; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.9; }
.for, .against { border-radius: .2rem; padding: .1rem 0; color: var(--ink); }
.for { background: rgb(var(--for) / var(--share)); }
.against { background: rgb(var(--against) / var(--share)); }
.unread, .note, th { color: var(--soft); font-weight: normal; }
.unread { text-decoration: line-through; }
.note { font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { text-align: left; padding: .15rem .9rem .15rem 0; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td small { color: var(--soft); display: block; }
.sibling { white-space: nowrap; }
.word { overflow-wrap: anywhere; }
.bar { width: 9rem; min-width: 5rem; padding-right: 0; }
.bar span { display: block; height: .8rem; margin-top: .4rem; border-radius: .15rem;
  width: calc(100% * var(--length)); --share: .8; }
@media (max-width: 30rem) { th, td { padding-right: .6rem; } }
"""


def explanation_page(explanation: Explanation) -> str:
    """The page; words towards a label are orange, words against it blue."""
    body = "\n".join(_body(explanation))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>Why these labels</title>\n<style>\n{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _body(explanation: Explanation) -> Iterator[str]:
    yield "<h1>Why these labels</h1>"
    if explanation.paths:
        paths = "; ".join(escape(" > ".join(path)) for path in explanation.paths)
        yield f"<p>Predicted: {paths}.</p>"
    else:
        yield "<p>No label is predicted for this text.</p>"
    yield (
        '<p class="note">Behind each word: <span class="for" style="--share:.6">towards the label'
        '</span>, <span class="against" style="--share:.6">against it</span>, the stronger the '
        "more. Integrated gradients of the label's score before the sigmoid, measured from [MASK] "
        "in the place of every word. "
        f"The model read {explanation.tokens:,} tokens"
        f"{'; what is struck through it did not read' if explanation.truncated else ''}.</p>"
    )
    if not explanation.explained:
        yield f'<p class="text">{escape(explanation.text)}</p>'
    for one in explanation.explained:
        yield from _section(explanation, one)


def _section(explanation: Explanation, one: LabelExplanation) -> Iterator[str]:
    yield "<section>"
    names = " > ".join(node.label for node in one.path)
    yield f"<h2>{escape(names)}</h2>"
    yield '<div class="scroll"><table>'
    yield "<tr><th>level</th><th>label</th><th>probability</th><th>siblings</th></tr>"
    for level, node in enumerate(one.path, start=1):
        yield _row(level, node)
    yield "</table></div>"
    yield (
        f"<p>Probability of the path {one.path_probability:.4f}, that of its least likely label; "
        f"product of all {one.joint_probability:.4f}.</p>"
    )
    yield f'<p class="text">{_highlighted(explanation, one)}</p>'
    yield from _strongest(one)
    note = " That is more than 5 %: take the words' shares as rough." if not one.complete else ""
    yield (
        f'<p class="note">Score {one.logit:+.3f}, without the words {one.baseline_logit:+.3f}: '
        f"a difference of {one.logit - one.baseline_logit:+.3f}. The shares of all words add up "
        f"to it but for {abs(one.delta):.4f}.{note}</p>"
    )
    yield "</section>"


def _strongest(one: LabelExplanation) -> Iterator[str]:
    """The words that did most, with their numbers: nothing points at a word on a phone."""
    ranked = sorted(one.words, key=lambda word: -abs(word.attribution))
    if not ranked:
        return
    largest = abs(ranked[0].attribution)
    yield '<div class="scroll"><table>'
    yield "<tr><th>word</th><th>share of the score</th><th></th></tr>"
    for word in ranked[:_LISTED]:
        text = word.text if len(word.text) <= _LONGEST_WORD else word.text[:_LONGEST_WORD] + "…"
        length = abs(word.attribution) / largest if largest > 0 else 0.0
        yield (
            f'<tr><td class="word">{escape(text)}</td><td class="number">{word.attribution:+.4f}'
            f'</td><td class="bar"><span class="{_side(word)}" style="--length:{length:.3f}">'
            "</span></td></tr>"
        )
    others = ranked[_LISTED:]
    if others:
        rest = sum(word.attribution for word in others)
        yield (
            f"<tr><td>{len(others):,} other words together</td>"
            f'<td class="number">{rest:+.4f}</td><td></td></tr>'
        )
    yield "</table></div>"


def _row(level: int, node: PathNode) -> str:
    siblings = ", ".join(
        f'<span class="sibling">{escape(name)} {one:.4f}</span>'
        for name, one in node.siblings.items()
    )
    mark = "" if node.predicted else "<small>not predicted</small>"
    return (
        f'<tr><td>{level}</td><td>{escape(node.label)}{mark}</td><td class="number">'
        f"{node.probability:.4f}</td><td>{siblings or '-'}</td></tr>"
    )


def _highlighted(explanation: Explanation, one: LabelExplanation) -> str:
    text, done = explanation.text, 0
    largest = max((abs(word.attribution) for word in one.words), default=0.0)
    parts: list[str] = []
    for word in one.words:
        parts += [escape(text[done : word.start]), _marked(word, largest)]
        done = word.end
    rest = escape(text[done:])
    unread = explanation.truncated and rest
    parts.append(f'<span class="unread">{rest}</span>' if unread else rest)
    return "".join(parts)


def _marked(word: Word, largest: float) -> str:
    share = _STRONGEST * abs(word.attribution) / largest if largest > 0 else 0.0
    return (
        f'<span class="{_side(word)}" style="--share:{share:.3f}" title="{word.attribution:+.4f}">'
        f"{escape(word.text)}</span>"
    )


def _side(word: Word) -> str:
    return "for" if word.attribution >= 0 else "against"
