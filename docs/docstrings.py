"""Docstrings as Markdown, for the site: lines that begin with the name of a field or an argument become a list."""

import re

import griffe

_NAMED = re.compile(r"(?P<names>[a-z_]+(?:, [a-z_]+)*)(?P<gap> +)(?P<text>\S.*)")


class FieldLists(griffe.Extension):
    """Rewrites the docstrings of functions and, when their members are known, of classes."""

    def on_function_instance(self, *, func: griffe.Function, **_) -> None:
        _rewrite(func, {parameter.name for parameter in func.parameters})

    def on_class_members(self, *, cls: griffe.Class, **_) -> None:
        _rewrite(cls, set(cls.members))


def _rewrite(obj: griffe.Object, names: set[str]) -> None:
    if obj.docstring:
        obj.docstring.value = markdown(obj.docstring.value, names)


def markdown(docstring: str, fields: set[str]) -> str:
    """Paragraphs whose lines are `name  what it is`, continued by indented lines, as lists; others as they are."""
    return "\n\n".join(_paragraph(text, fields) for text in docstring.split("\n\n"))


def _paragraph(text: str, fields: set[str]) -> str:
    entries = []
    for line in text.splitlines():
        found = _NAMED.fullmatch(line)
        if found and (len(found["gap"]) > 1 or set(found["names"].split(", ")) <= fields):
            names = ", ".join(f"`{name}`" for name in found["names"].split(", "))
            entries.append(f"- {names}: {found['text']}")
        elif entries and line.startswith(" "):
            entries[-1] += f" {line.strip()}"
        else:
            return text
    return "\n".join(entries)
