"""A headless Chromium driven through its DevTools pipe: commands and events are JSON texts that end in a zero byte."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE_SECONDS = 120


class Browser:
    """One browser with one page. `errors` collects what the console and uncaught exceptions said, `requests` every
    address that was asked for."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="retro-browser-")
        command_end, self._commands = os.pipe()
        self._answers, answer_end = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (command_end, answer_end)]

        def give_pipes():  # the browser reads commands from 3 and answers on 4
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             "--no-first-run", "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=give_pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in (command_end, answer_end, *ends):
            os.close(end)
        self._buffer, self._last_id, self._session = b"", 0, None
        self.events, self.errors, self.requests = [], [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.call(domain + ".enable")

    def close(self):
        try:
            self._session = None
            self.call("Browser.close")
            self._process.wait(20)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        """Sends a command and returns its result."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def wait_for(self, event):
        """Waits until `event` came, also if it came since the last call of `open`."""
        while event not in self.events:
            self._receive()

    def _receive(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise OSError("the browser ended")
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if "method" in message:
            self._note(message["method"], message.get("params", {}))
        return message

    def _note(self, event, details):
        self.events.append(event)
        if event == "Runtime.exceptionThrown":
            self.errors.append(details["exceptionDetails"].get("exception", {}).get("description", "exception"))
        elif event == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
            self.errors.append(str([argument.get("value") for argument in details["args"]]))
        elif event == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(details["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])

    def open(self, path):
        """Opens a file and waits until it is loaded; returns the seconds that took."""
        self.events.clear()
        start = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")
        return time.monotonic() - start

    def run(self, script):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", script))
        return answer["result"].get("value")

    def look(self, width, height, scheme, is_phone=False):
        """The size of the window, and light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if is_phone else 1, mobile=is_phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def press(self, key, code, text=""):
        """A key of the keyboard, down and up."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code,
                      text=text if kind == "keyDown" else "")

    def click(self, selector, place=0):
        """A real click in the middle of an element, after scrolling to it."""
        box = self.run(f"""(() => {{ const element = document.querySelectorAll({json.dumps(selector)})[{place}];
            element.scrollIntoView({{block: 'center'}}); const box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def screenshot(self, path, selector=None):
        """The whole page, or one element, as PNG."""
        clip = self.run(f"""(() => {{ const box = document.querySelector({json.dumps(selector or 'html')})
            .getBoundingClientRect(); return {{x: box.x + scrollX, y: box.y + scrollY, width: box.width,
            height: box.height, scale: 1}}; }})()""")
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture))
