# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""XML files as trees whose elements know their line."""

from __future__ import annotations

import os
import re
import zipfile
from typing import Iterator, Optional
from xml.parsers import expat

from .model_description import Source


class Element:
    """An element: its tag, its attributes and the elements in it."""

    __slots__ = ("tag", "attrib", "children", "sourceline")

    def __init__(self, tag: str, attrib: dict[str, str], sourceline: int) -> None:
        self.tag, self.attrib, self.sourceline = tag, attrib, sourceline
        self.children: list[Element] = []

    def __iter__(self) -> Iterator[Element]:
        return iter(self.children)

    def get(self, name: str, default: Optional[str] = None) -> Optional[str]:
        """The value of an attribute."""
        return self.attrib.get(name, default)

    def flag(self, name: str) -> bool:
        """The value of a Boolean attribute; False where it is absent."""
        return self.attrib.get(name) in ("true", "1")

    def findall(self, path: str) -> list[Element]:
        """All elements of a path of tags."""
        found = [self]
        for tag in path.split("/"):
            found = [child for e in found for child in e.children if child.tag == tag]
        return found

    def find(self, path: str) -> Optional[Element]:
        """The first element of a path of tags."""
        found = self.findall(path)
        return found[0] if found else None


_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")


def parse(data: bytes) -> Element:
    """The root of a document. The line of an element is that where its start tag ends."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = re.sub(r"<\?xml.*?\?>", "", data.decode("utf-16"), count=1).encode()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    roots: list[Element] = []
    stack: list[Element] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex
        match = _TAG.match(data, at)
        more = data.count(b"\n", at, match.end()) if match else 0
        element = Element(tag, attributes, parser.CurrentLineNumber + more)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.Parse(data, True)
    return roots[0]


def read_bytes(filename: Source, member: str) -> Optional[bytes]:
    """A file of an FMU, of a folder with an extracted one, or the XML file itself; None: absent."""
    if isinstance(filename, (str, os.PathLike)):
        path = os.fspath(filename)
        if os.path.isdir(path):
            path = os.path.join(path, *member.split("/"))
            if not os.path.isfile(path):
                return None
        if path.lower().endswith(".xml"):
            with open(path, "rb") as file:
                return file.read()
    with zipfile.ZipFile(filename) as archive:
        return archive.read(member) if member in archive.namelist() else None
