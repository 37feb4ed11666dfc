// node silent_page.js CHROMIUM PAGE.html TEXT: the page shows TEXT as text, and neither complains nor asks for anything.
"use strict";
const { Browser, Page } = require("./browser.js");

async function main([chromium, html, text]) {
  const browser = new Browser(chromium);
  try {
    const page = await Page.open(browser);
    await page.show(html, 380, "light");
    const shown = (await page.value("document.body.innerText")).includes(text);
    if (!shown) console.log(`the page does not show: ${text}`);
    for (const complaint of page.complaints) console.log(complaint);
    process.exitCode = shown && page.complaints.length === 0 ? 0 : 1;
  } finally {
    await browser.close();
  }
}
main(process.argv.slice(2)).catch((error) => {
  console.log(error.stack);
  process.exitCode = 1;
});
