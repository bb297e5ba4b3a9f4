#!/usr/bin/env python3
"""What the small run of configs/ci.yaml must show: copies between two releases of a manual are found and used.

usage: check_ci_run.py RUN_DIRECTORY
"""
import json
import pathlib
import sys


def bits(row, kind):
    """Bits per byte of the unshifted column of a kind ("on", "leaked")."""
    return next(s["bits_per_byte"] for s in row["systems"]
                if s["column"].startswith(kind + ".") and s["column"].endswith(".s0"))


def over_all_chunks(result, source, part=""):
    group = next(g for g in result["groups"] if g["source"] == source and g["part"] == part)
    return group["filtered"][-1]


def main():
    run = pathlib.Path(sys.argv[1])
    result = json.loads((run / "eval" / "result.json").read_text())
    unchanged = over_all_chunks(result, "linux-6.12", "unchanged")
    everything = over_all_chunks(result, "all")
    checks = {
        "retrieval on beats the baseline on unchanged files by 0.05 bits per byte":
            bits(unchanged, "baseline") - bits(unchanged, "on") > 0.05,
        "leaked neighbours beat the real ones": bits(everything, "leaked") < bits(everything, "on"),
        "random neighbours are no better than retrieval off": bits(everything, "random") >= bits(everything, "off"),
        "the page was written": (run / "report.html").stat().st_size > 10_000,
    }
    for what, holds in checks.items():
        print("ok  " if holds else "FAIL", what)
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    main()
