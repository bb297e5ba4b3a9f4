"""What commands print, and that they say when it could not be printed."""

import json
import subprocess

from small_run import SmallRunTest, main


class StandardOutputTest(SmallRunTest):
    def refused_output(self, *arguments):
        """Lines of standard error of a command whose standard output takes nothing."""
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = self.retro(*arguments, stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 1)
        return result.stderr.splitlines()

    def test_what_cannot_be_written_is_an_error(self):
        for arguments in (["--version"], ["--help"], ["plan", self.database_alone]):
            lines = self.refused_output(*arguments)
            self.assertEqual(lines, ["error: cannot write to standard output: No space left on device"])

    def test_a_database_that_is_cut_off_is_no_export(self):
        for command in (["corpus"], ["database", "build"]):
            self.assertEqual(self.retro(*command, self.database_alone).returncode, 0)
        run = self.here / "database_alone"
        self.assertEqual(len(self.retro("database", "export", run).stdout.splitlines()), 30)
        lines = self.refused_output("database", "export", run)
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("No space left on device", lines[0])


class PlanTest(SmallRunTest):
    def test_measured_rates_are_in_the_json(self):
        result = self.retro("plan", self.config, "--measure", "--json", "train.steps=100")
        self.assertEqual(result.returncode, 0, result.stderr)
        measured = json.loads(result.stdout)["measured"]
        for rate in ("chunks_per_second", "retro_tokens_per_second", "baseline_tokens_per_second"):
            self.assertGreater(measured[rate], 0)
        parts = sum(measured[part] for part in ("embed_seconds", "train_seconds", "eval_seconds"))
        self.assertAlmostEqual(measured["total_seconds"], parts)
        self.assertNotIn("measured", json.loads(self.retro("plan", self.config, "--json").stdout))

    def test_a_database_alone_is_planned(self):
        result = self.retro("plan", self.database_alone, "--measure")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("database", result.stdout)
        self.assertIn("chunks/s", result.stdout)
        self.assertNotIn("training", result.stdout.replace("training chunks", ""))


if __name__ == "__main__":
    main()
