// A page in headless Chromium, driven over the DevTools protocol through a pipe; needs node and nothing else.
"use strict";
const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

class Browser {
  constructor(program) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "lwsvm-browser-"));
    this.pending = new Map();
    this.listeners = [];
    this.next = 1;
    // Chromium refuses to sandbox itself as root, which tests in a container are; the page is our own.
    const asRoot = process.getuid() === 0 ? ["--no-sandbox"] : [];
    this.child = spawn(
      program,
      [
        "--headless",
        "--remote-debugging-pipe",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-extensions",
        "--disable-background-networking",
        "--hide-scrollbars",
        `--user-data-dir=${this.folder}`,
        ...asRoot,
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
    );
    let text = "";
    this.child.stdio[4].on("data", (piece) => {
      const messages = (text + piece).split("\0");
      text = messages.pop();
      for (const message of messages) this.receive(JSON.parse(message));
    });
    this.child.on("exit", () => {
      for (const { reject } of this.pending.values()) reject(new Error("Chromium ended"));
    });
  }

  receive(message) {
    const waiting = this.pending.get(message.id);
    if (!waiting) {
      for (const listener of this.listeners) listener(message);
      return;
    }
    this.pending.delete(message.id);
    if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else waiting.resolve(message.result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, method });
      this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  async close() {
    const ended = new Promise((resolve) => this.child.on("exit", resolve));
    this.send("Browser.close").catch(() => {});
    await ended;
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

// One tab. `complaints` gathers whatever a user would find in the console, and every request that is not for the page.
class Page {
  static async open(browser) {
    const page = new Page();
    page.browser = browser;
    page.complaints = [];
    const { targetId } = await browser.send("Target.createTarget", { url: "about:blank" });
    page.session = (await browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    browser.listeners.push((message) => message.sessionId === page.session && page.notice(message));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(`${domain}.enable`);
    return page;
  }

  notice({ method, params }) {
    const complain = (text) => this.complaints.push(text);
    if (method === "Page.loadEventFired" && this.loaded) this.loaded();
    if (method === "Runtime.exceptionThrown")
      complain(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === "Runtime.consoleAPICalled" && params.type !== "log") complain(`console.${params.type}`);
    const ours = /willReadFrequently/; // said to whoever reads pixels, which only the test does
    if (method === "Log.entryAdded" && params.entry.level !== "verbose" && !ours.test(params.entry.text))
      complain(params.entry.text);
    if (method === "Page.javascriptDialogOpening") complain(`dialog: ${params.message}`);
    if (
      method === "Network.requestWillBeSent" &&
      !/^(data|blob):/.test(params.request.url) &&
      params.request.url !== this.url
    )
      complain(`request: ${params.request.url}`);
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async show(file, width, theme) {
    this.url = `file://${encodeURI(file)}`;
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height: 900,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
    await this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: theme }],
    });
    const loaded = new Promise((resolve) => {
      this.loaded = resolve;
    });
    await this.send("Page.navigate", { url: this.url });
    await loaded;
    await this.frame();
  }

  // The value of an expression, or of what it promises.
  async value(expression) {
    const answer = await this.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (answer.exceptionDetails)
      throw new Error(`${expression}: ${answer.exceptionDetails.exception?.description}`);
    return answer.result.value;
  }
  // After the next picture has been drawn.
  frame() {
    return this.value(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))",
    );
  }

  async mouse(x, y, press = false) {
    const event = (type) =>
      this.send("Input.dispatchMouseEvent", {
        type,
        x,
        y,
        button: press ? "left" : "none",
        clickCount: press ? 1 : 0,
      });
    await event("mouseMoved");
    if (press) {
      await event("mousePressed");
      await event("mouseReleased");
    }
    await this.frame();
  }
  // Scrolls to the element and clicks into its middle.
  async click(selector) {
    const { x, y } = await this
      .value(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({block: "center"});
      const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`);
    await this.mouse(x, y, true);
  }
  async key(name) {
    for (const type of ["keyDown", "keyUp"])
      await this.send("Input.dispatchKeyEvent", { type, key: name, code: name });
    await this.frame();
  }
  // Of what is in view, or of any part of the page.
  async screenshot(file, clip = undefined) {
    const { data } = await this.send("Page.captureScreenshot", {
      captureBeyondViewport: clip !== undefined,
      clip,
    });
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }
}

module.exports = { Browser, Page };
