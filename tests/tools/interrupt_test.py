"""Ctrl-C, a kill, and a second process on one run."""

import os
import signal
import subprocess
import time

from small_run import SmallRunTest, main

MODELS = ("baseline", "retro")


class InterruptTest(SmallRunTest):
    def start(self, output=None):
        """`retro run` in a process group of its own, as a shell starts it, until both models are being trained."""
        log = (self.here / "log").open("w")
        self.addCleanup(log.close)
        process = subprocess.Popen([self.program, "run", self.config], stdout=output or log,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(self.end, process)
        metrics = [self.run_directory / "training" / model / "metrics.jsonl" for model in MODELS]
        self.wait(lambda: all(path.exists() and path.stat().st_size for path in metrics))
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
            process.wait()

    def wait(self, is_over):
        for _ in range(1200):
            if is_over():
                return
            time.sleep(0.1)
        self.fail((self.here / "log").read_text())

    def checkpoints(self, model):
        return list((self.run_directory / "training" / model / "checkpoints").glob("step_*"))

    def test_ctrl_c_saves_both_trainings(self):
        process = self.start()
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        for model in MODELS:
            self.assertEqual(len(self.checkpoints(model)), 1, (self.here / "log").read_text())

    def test_ctrl_c_saves_although_the_reader_of_the_log_is_gone(self):
        process = self.start(subprocess.PIPE)
        process.stdout.close()
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        for model in MODELS:
            self.assertEqual(len(self.checkpoints(model)), 1)

    def test_a_request_to_all_processes_saves_both_trainings(self):
        process = self.start()
        with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as children:
            for child in children.read().split():
                os.kill(int(child), signal.SIGTERM)
        process.terminate()
        self.assertEqual(process.wait(60), 130)
        for model in MODELS:
            self.assertEqual(len(self.checkpoints(model)), 1, (self.here / "log").read_text())

    def test_a_killed_run_takes_its_trainings_along(self):
        process = self.start()
        process.kill()
        process.wait()
        self.wait(lambda: all(self.checkpoints(model) for model in MODELS))

    def test_a_second_process_is_refused(self):
        process = self.start()
        before = (self.run_directory / "config.yaml").read_bytes()
        for command in ("run", "train"):
            result = self.retro(command, self.config, "sample.max_tokens=20")
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{self.run_directory} is being changed by process {process.pid}", result.stderr)
        self.assertEqual((self.run_directory / "config.yaml").read_bytes(), before)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(60), 130)


if __name__ == "__main__":
    main()
