"""A headless Chromium for tests of pages: opened on a file, asked with JavaScript, photographed; the network recorded.

It speaks the DevTools protocol over two pipes (`--remote-debugging-pipe`), so that no further package is needed.
"""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 30

OVERLAPS = """
(() => {
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const inside = node.parentElement.nodeName.toUpperCase();
    if (!node.textContent.trim() || ["SCRIPT", "STYLE", "TITLE"].includes(inside)) continue;
    if (!node.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const r of range.getClientRects())
      if (r.width > 1 && r.height > 1) boxes.push({ node, r, text: node.textContent.trim().slice(0, 40) });
  }
  boxes.sort((a, b) => a.r.top - b.r.top);
  const found = [];
  for (let i = 0; i < boxes.length; i++)
    for (let j = i + 1; j < boxes.length && boxes[j].r.top < boxes[i].r.bottom; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      if (a.node === b.node) continue;
      const wide = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
      const high = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
      // Boxes of lines are higher than their letters: a third of the smaller one may lie in the other.
      if (wide > 2 && high > Math.min(a.r.height, b.r.height) / 3) found.push([a.text, b.text, wide, high]);
    }
  return found;
})()
"""
"""Pairs of texts that lie on one another, with how far."""


class Chromium:
    """A browser with one open page.

    Attributes:
        requests: The address of everything that was asked for since the last `open`.
        errors: What the page's scripts have logged or thrown.
    """

    def __init__(self, profile: Path) -> None:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            pytest.skip("needs Chromium")
        (child_in, self._out), (self._in, child_out) = os.pipe(), os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        # /dev/fd, because dash takes no number of two digits behind `<&`.
        start = f'exec "$0" "$@" 3</dev/fd/{child_in} 4>/dev/fd/{child_out}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars"]
        options += [f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND", "--no-first-run"]
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", start, program, *options, "about:blank"],
            pass_fds=(child_in, child_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(child_in), os.close(child_out)
        self._number, self._rest, self._session = 0, b"", None
        self.requests: list[str] = []
        self.errors: list[str] = []
        [target] = [t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page"][:1]
        answer = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = answer["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(20)
        os.close(self._out), os.close(self._in)

    def call(self, method, **parameters):
        """Sends a command and waits for its answer; what the browser tells in between is kept."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._out, json.dumps(command).encode() + b"\0")
        while (answer := self._read()).get("id") != self._number:
            self._note(answer)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def open(self, address, width=1280, height=900, dark=False):
        """Opens a page at a width in CSS pixels, and waits until it is loaded."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.requests, self.errors, self._loaded = [], [], False
        self.call("Page.navigate", url=str(address) if "://" in str(address) else Path(address).as_uri())
        while not self._loaded:
            self._note(self._read())

    def ask(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def overlaps(self):
        return self.ask(OVERLAPS)

    def overflow(self):
        """By how many pixels the page is wider than the window."""
        return self.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def photograph(self, file, top=0, height=None):
        """Writes the whole page, or so much of it from `top` on, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": height or size["height"] - top, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        Path(file).write_bytes(base64.b64decode(data))

    def _read(self):
        while b"\0" not in self._rest:
            assert select.select([self._in], [], [], SECONDS)[0], f"Chromium has said nothing for {SECONDS} s."
            part = os.read(self._in, 1 << 20)
            assert part, "Chromium has ended."
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, message):
        parameters = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(parameters["exceptionDetails"]["text"])
            case "Log.entryAdded":
                self.errors.append(parameters["entry"]["text"])
