#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Makes a site of the documents, or only checks their links.

    docs.py FOLDER     writes the site to FOLDER/site, with MkDocs and Doxygen (make docs)
    docs.py --check    checks that every link leads to a file and a heading that exist, and that every page is reachable

Pages are the documents that README.md leads to, under the paths that they have in the repository. Files that they link to
(models, systems, tests) become pages, too; public headers lead to the reference that Doxygen makes of them.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = "include/couplet"
REFERENCE = "reference"  # folder of Doxygen's pages in the site
FENCE = re.compile(r"^([ \t]*)```.*?^\1```", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`|(?<=\n\n)(?:    .*\n|\n)+")  # within a line, or an indented block
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
PICTURES = (".svg", ".png", ".jpg")
LANGUAGES = {".c": "c", ".h": "c", ".yaml": "yaml", ".xml": "xml", ".awk": "awk"}
NAVIGATION = (  # title, pages; a title of its own for a page, or None for the page's heading
    ("Simulating", ["docs/installing.md", "docs/system-file.md", "docs/ssp.md", "docs/system-fmu.md", "docs/studies.md", "docs/fit.md", "docs/models-in-c.md", "docs/fmi.md", "docs/looking.md",
                    "docs/graph-and-linearize.md", "docs/analysis.md", "docs/checkpoints.md", "docs/delay-lines.md", "docs/crosscheck.md", "docs/foreign-fmus.md", "docs/clusters.md"]),
    ("Methods", ["docs/aggregated-or-monolithic.md", "docs/performance.md", "docs/fmi-extensions.md", "docs/glossary.md"]),
    ("Library", ["docs/python.md", "docs/fmpy.md", "docs/pyfmi.md", "docs/library.md", "docs/architecture.md", "src/README.md"]),
    ("Project", ["CHANGELOG.md", "CONTRIBUTING.md", "THIRD-PARTY.md"]),
)


def blank_code(text):
    """The text with code replaced by blanks of the same length."""
    for pattern in (FENCE, CODE):
        text = pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return text


def heading_of(text):
    found = re.search(r"^# (.*)", blank_code(text), re.M)
    return text[found.start(1):found.end(1)] if found else None


def anchors(text):
    """Names of headings as GitHub gives them."""
    names = set()
    for line in re.finditer(r"^#+ (.*)", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line[1])
        name = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
        names.add(name)
    return names


class Pages:
    def __init__(self):
        self.texts = {}      # path in the repository -> text of a document
        self.files = set()   # other files that documents link to
        self.findings = []
        self.collect("README.md")
        for path in [p for _, pages in NAVIGATION for p in pages]:
            if path not in self.texts:
                self.findings.append(f"{path} cannot be reached from README.md")
                self.collect(path)
        for path in sorted(ROOT.glob("examples/*/README.md")):
            self.collect(str(path.relative_to(ROOT)))

    def collect(self, path):
        if path in self.texts:
            return
        text = self.texts[path] = (ROOT / path).read_text()
        for link in LINK.finditer(blank_code(text)):
            self.follow(path, text[link.start(2):link.end(2)])

    def follow(self, page, link):
        if ":" in link:
            return
        file, _, anchor = link.partition("#")
        target = self.target(page, file)
        if not (ROOT / target).exists():
            self.findings.append(f"{page}: {link} does not exist")
        elif target.endswith(".md"):
            self.collect(target)
            if anchor and anchor not in anchors(self.texts[target]):
                self.findings.append(f"{page}: {link}: there is no such heading")
        elif (ROOT / target).is_file():
            self.files.add(target)

    @staticmethod
    def target(page, file):
        return page if not file else os.path.normpath(os.path.join(os.path.dirname(page), file))

    def site_path(self, target):
        """The path of a file of the repository in the folder that MkDocs reads."""
        if target == "README.md":
            return "index.md"
        if os.path.dirname(target) == HEADERS:
            return f"{REFERENCE}/{pathlib.Path(target).stem}_8h.html"
        if target == HEADERS:
            return f"{REFERENCE}/files.html"
        if target == "examples":
            return "examples/index.md"
        if target.endswith(".md") or target.endswith(PICTURES):
            return target
        return target + ".md"

    def rewritten(self, page):
        text = self.texts[page]
        spots = [m.span(2) for m in LINK.finditer(blank_code(text))]
        for begin, end in reversed(spots):
            link = text[begin:end]
            if ":" in link:
                continue
            file, mark, anchor = link.partition("#")
            if file:
                to = self.site_path(self.target(page, file))
                file = os.path.relpath(to, os.path.dirname(self.site_path(page)) or ".")
            text = text[:begin] + file + mark + anchor + text[end:]
        return text


def write(folder, path, text):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def write_pages(pages, folder):
    for page in pages.texts:
        write(folder, pages.site_path(page), pages.rewritten(page))
    for file in pages.files:
        if file.endswith(PICTURES):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)
        elif os.path.dirname(file) != HEADERS:
            text = (ROOT / file).read_text().rstrip("\n")
            language = LANGUAGES.get(pathlib.Path(file).suffix, "")
            write(folder, pages.site_path(file), f"# {file}\n\n````{language}\n{text}\n````\n")
    examples = [p for p in sorted(pages.texts) if re.fullmatch(r"examples/\w+/README.md", p)]
    lines = [f"- [{p.split('/')[1]}]({p.removeprefix('examples/')}): {heading_of(pages.texts[p])}\n" for p in examples]
    write(folder, "examples/index.md", "# Examples\n\n" + "".join(lines))
    return examples


def write_configuration(pages, examples, folder):
    entries = ["  - Start: index.md\n"]
    for title, paths in NAVIGATION:
        entries.append(f"  - {title}:\n")
        entries += [f"      - {path}\n" for path in paths]
        if title == "Library":
            entries.append(f"      - Reference of the headers: {REFERENCE}/files.html\n")
    entries.append("  - Examples:\n      - All examples: examples/index.md\n")
    entries += [f"      - {path.split('/')[1]}: {path}\n" for path in examples]
    write(folder, "mkdocs.yml", (ROOT / "docs/site/mkdocs.yml").read_text() + "nav:\n" + "".join(entries))


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    output = [line for line in done.stdout.splitlines() if not line.startswith("INFO")]
    if done.returncode != 0 or any("warning" in line.lower() for line in output):
        sys.exit("\n".join(output[-30:]) + f"\n{command[0]} failed")


def make_site(pages, folder):
    shutil.rmtree(folder, ignore_errors=True)
    source = folder / "pages"
    examples = write_pages(pages, source)
    write_configuration(pages, examples, folder)
    settings = (ROOT / "docs/site/Doxyfile").read_text()
    settings += f'OUTPUT_DIRECTORY = "{source}"\nHTML_OUTPUT = {REFERENCE}\n'
    settings += f'INPUT_FILTER = "{sys.executable} {ROOT}/docs/site/filter.py"\n'
    run(["doxygen", "-"], ROOT, input=settings)
    run(["mkdocs", "build", "--strict", "--quiet"], folder)
    print(f"{folder}/site/index.html: {len(pages.texts)} pages, {len(pages.files)} files")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    pages = Pages()
    if pages.findings:
        sys.exit("\n".join(pages.findings))
    if sys.argv[1] == "--check":
        print(f"{len(pages.texts)} documents: every link leads somewhere")
    else:
        make_site(pages, pathlib.Path(sys.argv[1]).resolve())


main()
