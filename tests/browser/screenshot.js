// node screenshot.js CHROMIUM PAGE.html PICTURE.png WIDTH HEIGHT light|dark [TOP]: part of a page as a picture.
"use strict";
const path = require("node:path");
const { Browser, Page } = require("./browser.js");

async function main([chromium, html, picture, width, height, theme, top = "0"]) {
  const browser = new Browser(chromium);
  try {
    const page = await Page.open(browser);
    await page.show(path.resolve(html), Number(width), theme);
    await page.screenshot(picture, {
      x: 0,
      y: Number(top),
      width: Number(width),
      height: Number(height),
      scale: 1,
    });
    for (const complaint of page.complaints) console.error(complaint);
  } finally {
    await browser.close();
  }
}
main(process.argv.slice(2)).catch((error) => {
  console.error(error.message);
  process.exit(1);
});
