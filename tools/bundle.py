#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Makes pages of their parts at build time: one file with style and scripts inside.

  bundle.py NODE_MODULES PAGE_FOLDER OUT_FOLDER

The policy of a page names its scripts and its style by their hashes, so that nothing else can run in it, whatever
a model calls its variables. @TITLE@ and @DATA@ are left for the library to fill in.
"""
import base64
import hashlib
import os
import sys

# page: (template, styles, scripts of others, our scripts, what it may connect to)
RESULTS = ("page.html", ["uplot/dist/uPlot.min.css", "page.css"], [("uplot", "dist/uPlot.iife.min.js")],
           ["embedded.js", "parts.js", "data.js", "curves.js", "colours.js", "axes.js", "units.js", "tree.js", "expression.js", "derived.js",
            "spectrum.js", "paths.js", "plot.js", "plotbar.js", "cursor.js", "events.js", "gestures.js", "export.js", "link.js",
            "plot_state.js", "live.js", "app.js"])
STUDY = ("study/study.html", ["page.css", "study/study.css"], [],
         ["embedded.js", "parts.js", "colours.js", "axes.js", "link.js"] +
         ["study/%s.js" % name for name in ("cases", "colour", "raster", "painter", "chart", "parallel", "order", "curves", "scatter", "influence",
                                            "statistics", "side", "state", "study")])
FIT = ("fit/fit.html", ["page.css", "fit/fit.css"], [], ["embedded.js", "parts.js", "axes.js", "fit/fit.js"])
PAGES = {
    "results.html": (*RESULTS, "'none'"),
    "live.html": (*RESULTS, "'self'"),
    "study.html": (*STUDY, "'none'"),
    "fit.html": (*FIT, "'none'"),
    "graph.html": ("graph.html", ["page.css", "graph.css"], [("elkjs", "lib/elk.bundled.js")], ["diagram.js", "graph.js"], "'none'"),
}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def licence(modules, package):
    folder = os.path.join(modules, package)
    name = next(n for n in sorted(os.listdir(folder)) if n.upper().startswith("LICENSE"))
    return "/*! %s\n%s*/\n" % (package, read(folder, name).replace("*/", "* /"))


def digest(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def bundle(modules, folder, template, styles, others, ours, connect):
    style = "\n".join(read(folder, s) if os.path.exists(os.path.join(folder, s)) else read(modules, s) for s in styles)
    script = "".join(licence(modules, p) + read(modules, p, f) + "\n" for p, f in others)
    script += "(() => {\n'use strict';\n" + "\n".join(read(folder, s) for s in ours) + "})();\n"
    if "</script" in script.lower() or "<!--" in script or "</style" in style.lower():
        sys.exit("bundle.py: the text would end its own element")
    policy = ("default-src 'none'; script-src %s; style-src %s; img-src data: blob:; connect-src %s; base-uri 'none'; "
              "form-action 'none'" % (digest(script), digest(style), connect))
    page = read(folder, template)
    for key, text in (("@POLICY@", policy), ("@STYLE@", style), ("@SCRIPT@", script)):
        before, after = page.split(key)
        page = before + text + after
    return page


def engine(modules, folder):
    """Layout and drawing for the engine inside the library, where there is no page: couplet graph --svg."""
    return (read(folder, "engine.js") + licence(modules, "elkjs") + read(modules, "elkjs", "lib/elk-worker.min.js") + "\n" +
            read(folder, "diagram.js"))


def main():
    modules, folder, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    for name, parts in PAGES.items():
        with open(os.path.join(out, name), "w", encoding="utf-8") as f:
            f.write(bundle(modules, folder, *parts))
    with open(os.path.join(out, "engine.js"), "w", encoding="utf-8") as f:
        f.write(engine(modules, folder))


main()
