// node silent_page.js CHROMIUM PAGE.html TEXT: the page shows TEXT as text, and neither complains nor asks for anything.
"use strict";
const { expect, inBrowser, run } = require("./check.js");

const [chromium, html, text] = process.argv.slice(2);

run(() =>
  inBrowser(chromium, async (page) => {
    await page.show(html, 380, "light");
    expect((await page.value("document.body.innerText")).includes(text), `the page shows: ${text}`);
  }),
);
