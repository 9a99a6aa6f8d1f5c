# SPDX-FileCopyrightText: 2026 the couplet developers
# SPDX-License-Identifier: BSD-2-Clause
"""Puts the shared libraries that programs need beside them (tools/wheel.py, tools/tarball.py).

Only the libraries of glibc remain those of the system. Copies get names of their own (libfyaml-1a2b3c4d.so.0): a
process may load another version of the same library, for example Python's module ssl or an FMU, and the dynamic
linker takes two libraries of one name for the same. Libraries that couplet loads by name keep their names. DT_RPATH, not
DT_RUNPATH, leads to the folder, because only DT_RPATH comes before LD_LIBRARY_PATH.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
GLIBC = {"libc", "libm", "libmvec", "libdl", "libpthread", "librt", "libresolv", "libutil", "libanl",
         "ld-linux-x86-64", "ld-linux-aarch64"}
LOADED_BY_NAME = re.compile(rb"(?<![\w./+-])(lib[a-z0-9_+-]+\.so\.[0-9]+)\0")  # a text of its own


class PackagingError(Exception):
    pass


def output(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        raise PackagingError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def version():
    """The version of couplet."""
    return re.search(r"^project\(couplet VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]


def in_glibc(soname):
    return plain_name(soname) in GLIBC


def plain_name(soname):
    """libpgm of libpgm-5.3.so.0"""
    return re.sub(r"(-[0-9]+\.[0-9]+)?\.so.*", "", soname)


def needed(file):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", file))


def glibc_version():
    return tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split("."))


#------------------------------------ what is needed ------------------------------------

def with_dependencies(file):
    """Names and paths of all libraries that the dynamic linker loads with a file, without those of glibc."""
    found = {}
    for line in output("ldd", file).splitlines():
        if match := re.match(r"\s*(\S+) => (.*?)(?: \(0x.*)?$", line):
            if in_glibc(match[1]):
                continue
            if match[2] == "not found":
                raise PackagingError(f"{file} needs {match[1]}, which is not found")
            found[match[1]] = pathlib.Path(match[2])
    return found


def loaded_by_name(file):
    """Names of libraries that a program passes to dlopen(), with their paths."""
    installed = {}
    for line in output("/sbin/ldconfig", "-p").splitlines():
        if match := re.match(r"\s*(\S+) \(.*\) => (\S+)$", line):
            installed.setdefault(match[1], pathlib.Path(match[2]))
    direct = set(needed(file))
    names = {name.decode() for name in LOADED_BY_NAME.findall(file.read_bytes())}
    found, of_system = {}, system_parts()
    for name in sorted(names - direct):
        if in_glibc(name) or plain_name(name) in of_system:
            continue
        if name not in installed:
            raise PackagingError(f"{file} loads {name}, which is not installed")
        found[name] = installed[name]
    return found


class Libraries:
    """All libraries that some files need: `paths` by name, and `names` that the copies get."""

    def __init__(self, files):
        self.paths, self.names = {}, {}
        by_name = {}
        for file in files:
            self.paths |= with_dependencies(file)
            by_name |= loaded_by_name(file)
        for name, path in by_name.items():
            self.paths |= {name: path} | with_dependencies(path)
        for name, path in self.paths.items():
            self.names[name] = name
            if name not in by_name:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
                self.names[name] = name.replace(".so", f"-{digest}.so", 1)

    def copy(self, folder):
        """Copies the libraries to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in sorted(self.paths.items()):
            target = folder / self.names[name]
            shutil.copyfile(path, target)
            target.chmod(0o755)
            output("strip", "--strip-unneeded", target)
            self.relink(target, "$ORIGIN", "--set-soname", target.name)

    def relink(self, file, rpath, *options):
        """Makes a file look for its libraries in rpath, under their new names."""
        changes = [options] if options else []
        changes += [("--replace-needed", name, self.names[name]) for name in needed(file)
                    if self.names.get(name, name) != name]
        for change in [*changes, ("--force-rpath", "--set-rpath", rpath)]:
            output("patchelf", *change, file)  # one by one: patchelf 0.14 mixes up the names of several changes


def check(files, folder):
    """Raises PackagingError unless the files need, and find all symbols in, only libraries of the folder and this glibc."""
    there = {path.name for path in folder.iterdir()}
    newest = glibc_version()
    for file in [*files, *sorted(folder.iterdir())]:
        for name in needed(file):
            if not in_glibc(name) and name not in there:
                raise PackagingError(f"{file.name} needs {name}, which is not in the package")
        for text in set(re.findall(r"\bGLIBC_([0-9.]+)", output("readelf", "-VW", file))):
            if tuple(int(n) for n in text.split(".")) > newest:
                raise PackagingError(f"{file.name} needs glibc {text}")
        rpath = re.findall(r"\(R(?:UN)?PATH\).*\[(.*)\]", output("readelf", "-d", file))
        if len(rpath) != 1 or not rpath[0].startswith("$ORIGIN"):
            raise PackagingError(f"{file.name} looks for libraries in {rpath}")
        linked = subprocess.run(["ldd", "-r", str(file)], capture_output=True, text=True)
        for line in (linked.stdout + linked.stderr).splitlines():
            if "not found" in line or re.search(r"undefined symbol: (?!_?Py)", line):
                raise PackagingError(f"{file.name}: {line.strip()}")


#------------------------------------ licences ------------------------------------

def package_of(path):
    """Name of the Debian package that a file belongs to."""
    for form in (str(path), "/usr" + str(path), str(path.resolve()), str(path.resolve()).removeprefix("/usr")):
        try:
            return output("dpkg", "-S", form).split(": ")[0].split(",")[0].split(":")[0]
        except PackagingError:
            continue
    raise PackagingError(f"{path} belongs to no Debian package, so that its licence is not known")


def listed_parts():
    """Names of the libraries that THIRD-PARTY.md lists, as parts or as bundled libraries."""
    text = (ROOT / "THIRD-PARTY.md").read_text()
    return set(re.findall(r"(?:shared|on demand) \((lib\w+)\)", text)) | \
        {name for line in re.findall(r"^- .*?\((lib[^)]*)\)", text, re.M) for name in line.split(", ")}


def system_parts():
    """Names of the libraries that are not bundled: couplet loads them where the system has them."""
    return set(re.findall(r"from the system \((lib\w+)\)", (ROOT / "THIRD-PARTY.md").read_text()))


def copy_licences(libraries, folder):
    """Writes the notices of the libraries, the licences they refer to, and a list with the versions of their sources."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, common = [], set()
    listed = listed_parts()
    for name, path in sorted(libraries.paths.items()):
        if plain_name(name) not in listed:
            raise PackagingError(f"THIRD-PARTY.md does not list {name}, which is in the package")
        package = package_of(path)
        source, its_version = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}\n",
                                     package).splitlines()[0].split()
        notice = pathlib.Path("/usr/share/doc") / package / "copyright"
        if not notice.exists():
            raise PackagingError(f"{notice} is missing")
        text = notice.read_text()
        common |= set(re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.-]*[A-Za-z0-9])", text))
        (folder / f"{source}.txt").write_text(text)
        rows.append(f"{libraries.names[name]}: {source} {its_version}\n")
    for name in sorted(common):
        shutil.copyfile(pathlib.Path("/usr/share/common-licenses") / name, folder / f"{name}.txt")
    (folder / "libraries.txt").write_text(
        "Shared libraries in this package, and the Debian source packages they are built from, unchanged but for\n"
        "their names and search paths. SOURCE.txt is the notice of each. Any of these libraries can be replaced\n"
        "by another build of the same version of its interface.\n\n" + "".join(rows))
