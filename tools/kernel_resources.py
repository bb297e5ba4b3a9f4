#!/usr/bin/env python3
"""Compiles every kernel with nvcc and lists registers, shared memory and spills as ptxas reports them. Needs no GPU.

    tools/kernel_resources.py BUILD_FOLDER             compile, fail on an error, a warning or a large spill
    tools/kernel_resources.py BUILD_FOLDER --write     and write the table of docs/kernels.md
    tools/kernel_resources.py --self-test              check the parser on a known report

Objects are kept in BUILD_FOLDER and made again only when a file of kernels/ is newer. nvcc: $CUDACXX or PATH.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURES = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]
OPTIONS = ["-std=c++17", "-O3", f"-I{ROOT}", "-Xptxas=-v", "-Werror=all-warnings"]
# Stores and loads of all spill instructions together, each executed at most once per tile of keys or queries, beside
# tens of KiB that the tile reads. More would be a mistake.
LARGEST_SPILL_BYTES = 512
BEGIN, END = "<!-- table: tools/kernel_resources.py --write -->\n", "<!-- end of table -->\n"
ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(sm_\d+)'")
SPILL = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def sources():
    text = (ROOT / "kernels" / "sources.cmake").read_text(encoding="utf-8")
    return [ROOT / "kernels" / name for name in re.findall(r"^\s+(\w+\.cu)\b", text, re.M)]


def compiled_report(nvcc, source, folder):
    """ptxas's words on one file, from the last compilation where nothing is newer."""
    report, target = folder / f"{source.stem}.txt", folder / f"{source.stem}.o"
    newest = max(path.stat().st_mtime for path in [*(ROOT / "kernels").iterdir(), Path(__file__)])
    if report.exists() and target.exists() and report.stat().st_mtime > newest:
        return report.read_text(encoding="utf-8")
    command = [nvcc, *OPTIONS, *ARCHITECTURES, "-c", str(source), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{source.name} does not compile:\n{done.stdout}{done.stderr}")
    report.write_text(done.stderr, encoding="utf-8")
    return done.stderr


def short_name(demangled):
    """void retro::kernels::(anonymous namespace)::f<float, 32>(P) becomes f<float, 32>."""
    name = demangled.removeprefix("void ").replace("retro::kernels::", "").replace("(anonymous namespace)::", "")
    depth = 0
    for i, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:i]
            break
    return re.sub(r"\((?:int|bool)\)", "", name).replace("__nv_bfloat16", "bfloat16")


def rows_of(report):
    """(mangled name, architecture, registers, static shared bytes, spill bytes) of every kernel in a report."""
    rows, entry, spill = [], None, 0
    for line in report.splitlines():
        if match := ENTRY.search(line):
            entry = match.groups()
        elif match := SPILL.search(line):
            spill = int(match[2]) + int(match[3])
        elif (match := USED.search(line)) and entry:
            rows.append((*entry, int(match[1]), int(match[2] or 0), spill))
            entry = None
    return rows


def demangled(names):
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, map(short_name, done.stdout.splitlines())))


def table(rows):
    """One line a kernel, its architectures side by side."""
    names = demangled(sorted({row[0] for row in rows}))
    found = {}
    for name, architecture, registers, shared, spill in rows:
        found.setdefault(names[name], {})[architecture] = (registers, shared, spill)
    yield "| kernel | registers sm_80 / sm_90 | static shared bytes | spilled bytes sm_80 / sm_90 |\n"
    yield "|---|---|---|---|\n"
    for name in sorted(found):
        old, new = found[name]["sm_80"], found[name]["sm_90"]
        yield f"| `{name}` | {old[0]} / {new[0]} | {new[1]} | {old[2]} / {new[2]} |\n"


def write_table(rows):
    path = ROOT / "docs" / "kernels.md"
    text = path.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    path.write_text(text[:begin] + "\n" + "".join(table(rows)) + "\n" + text[end:], encoding="utf-8")
    print(f"wrote {path.relative_to(ROOT)}")


def self_test():
    report = (
        "ptxas info    : Compiling entry function '_Z1fIfLi32EEvT_' for 'sm_80'\n"
        "ptxas info    : Function properties for _Z1fIfLi32EEvT_\n"
        "    40 bytes stack frame, 44 bytes spill stores, 68 bytes spill loads\n"
        "ptxas info    : Used 255 registers, used 1 barriers, 32 bytes smem\n"
    )
    assert rows_of(report) == [("_Z1fIfLi32EEvT_", "sm_80", 255, 32, 112)], rows_of(report)
    name = "void retro::kernels::(anonymous namespace)::f<float, (bool)1>(retro::kernels::P<float>)"
    assert short_name(name) == "f<float, 1>", short_name(name)
    assert len(sources()) > 5
    print("self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--write", action="store_true", help="write the table of docs/kernels.md")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    if arguments.folder is None:
        parser.error("BUILD_FOLDER: expected a folder for the objects")
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc")
    if nvcc is None:
        raise SystemExit("nvcc is neither in $CUDACXX nor on PATH: install a CUDA 13 toolkit")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = list(pool.map(lambda source: compiled_report(nvcc, source, arguments.folder), sources()))
    rows = [row for report in reports for row in rows_of(report)]
    if arguments.write:
        write_table(rows)
    large = [row for row in rows if row[4] > LARGEST_SPILL_BYTES]
    for row in large:
        print(f"{demangled([row[0]])[row[0]]} on {row[1]} spills {row[4]} bytes, more than {LARGEST_SPILL_BYTES}")
    print(f"{len({row[0] for row in rows})} kernels compiled for sm_80 and sm_90, the largest spill {max(row[4] for row in rows)} bytes")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
