// A script that looks at a page as a person would: says what is not so, and ends with exit code 1 if anything was.
"use strict";
const { Browser, Page } = require("./browser.js");

let failures = 0;
function expect(condition, what) {
  if (condition) return;
  ++failures;
  console.log(`not so: ${what}`);
}

// check(page, browser) on a page of its own, whose console must stay silent and which may ask nothing of the network.
async function inBrowser(chromium, check) {
  const browser = new Browser(chromium);
  try {
    const page = await Page.open(browser);
    await check(page, browser);
    expect(
      page.complaints.length === 0,
      `the console is silent and nothing is asked of the network: ${page.complaints}`,
    );
  } finally {
    await browser.close();
  }
}

// Runs the script's checks.
function run(main) {
  main().then(
    () => {
      process.exitCode = failures > 0 ? 1 : 0;
    },
    (error) => {
      console.log(error.stack);
      process.exitCode = 1;
    },
  );
}

module.exports = { expect, inBrowser, run };
