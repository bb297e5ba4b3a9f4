"""The scripts, called from elsewhere, with stand-ins for what they call."""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRINTS = '#!/bin/sh\necho "$(basename "$0")" deps="$RETRO_DEPS" "$@"\n'


class ScriptsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.checkout = Path(scratch.name).resolve() / "checkout"
        self.elsewhere = self.checkout.parent / "elsewhere"
        self.elsewhere.mkdir()
        for folder in ("tools", "configs", "docs"):
            (self.checkout / folder).mkdir(parents=True)
        (self.checkout / "configs" / "ci.yaml").touch()

    def take(self, name):
        shutil.copy(ROOT / "tools" / name, self.checkout / "tools" / name)

    def write_program(self, name, text=PRINTS):
        path = self.checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def call(self, script, *arguments, **variables):
        return subprocess.run(
            [self.checkout / "tools" / script, *arguments],
            cwd=self.elsewhere,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def quickstart(self, *arguments, **variables):
        self.take("quickstart.sh")
        for name in ("tools/setup.sh", "tools/build.sh", "build/cpu/tools/retro"):
            self.write_program(name)
        result = self.call("quickstart.sh", *arguments, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def test_the_quickstarts_configuration_lies_where_it_is_called(self):
        (self.elsewhere / "my.yaml").touch()
        lines = self.quickstart("my.yaml", "train.steps=3", RETRO_DEPS="deps")
        deps = self.elsewhere / "deps"
        self.assertEqual(lines[0], f"setup.sh deps={deps}")
        self.assertEqual(lines[-1], f"retro deps={deps} run {self.elsewhere}/my.yaml dependencies={deps} train.steps=3")

    def test_else_it_is_one_of_the_checkout(self):
        self.assertIn(" run configs/ci.yaml ", self.quickstart("configs/ci.yaml", RETRO_DEPS="")[-1])

    def test_a_missing_configuration_is_named(self):
        self.take("quickstart.sh")
        result = self.call("quickstart.sh", "none.yaml")
        self.assertEqual(result.returncode, 2)
        self.assertIn("none.yaml: no such configuration", result.stderr)

    def test_the_build_takes_the_dependencies_of_the_setup(self):
        self.take("build.sh")
        self.write_program("bin/cmake", f'#!/bin/sh\necho "$@" >>{self.checkout}/calls\n')
        path = f"{self.checkout}/bin:{os.environ['PATH']}"
        result = self.call("build.sh", "cpu", RETRO_DEPS="deps", PATH=path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"-DRETRO_DEPS={self.elsewhere}/deps", (self.checkout / "calls").read_text())

    def pack(self, *arguments):
        self.take("gpu_check.sh")
        (self.elsewhere / "tmp").mkdir(exist_ok=True)
        return self.call("gpu_check.sh", "--pack", *arguments, TMPDIR=str(self.elsewhere / "tmp"))

    def make_programs(self):
        for name in (
            "tests/kernels/kernel_gpu_tests",
            "tests/device/device_gpu_tests",
            "benchmarks/cross_attention_benchmark",
            "benchmarks/device_step_benchmark",
            "tools/retro",
        ):
            path = self.checkout / "build" / "cuda" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy("/bin/true", path)

    def test_a_pack_lies_where_it_is_asked_for(self):
        self.make_programs()
        result = self.pack("pack.tar.gz")
        self.assertEqual(result.returncode, 0, result.stderr)
        with tarfile.open(self.elsewhere / "pack.tar.gz") as archive:
            names = archive.getnames()
        self.assertIn("./build/cuda/tools/retro", names)
        self.assertIn("./tools/gpu_check.sh", names)
        self.assertEqual(list((self.elsewhere / "tmp").iterdir()), [])

    def test_a_pack_that_fails_says_so_and_leaves_nothing(self):
        self.assertIn("is missing", self.pack("pack.tar.gz").stderr)
        self.make_programs()
        result = self.pack("no/such/folder/pack.tar.gz")
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("packed", result.stdout)
        shutil.rmtree(self.checkout / "docs")
        result = self.pack("pack.tar.gz")
        self.assertNotEqual(result.returncode, 0)
        self.assertNotIn("packed", result.stdout)
        self.assertEqual([path.name for path in self.elsewhere.rglob("*")], ["tmp"])


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
