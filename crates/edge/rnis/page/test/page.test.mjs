// The page of the RNIS in a real Chromium, against a real RIC, an emulated RAN and the service.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { eventually, get, openPage, root, send, startBrowser, startRan, startRic, startRnis, startRnisDemo, stop, stopAll } from "../../../../base/http/page/test/processes.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["overview", "subscriptions", "notifications", "network"];
const STREET = resolve(root, "crates/bin/ferric-rnis/src/demo/scenario.toml");

let browser;
const callbacks = [];
before(async () => {
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await stopAll();
  for (const callback of callbacks.splice(0)) {
    callback.closeAllConnections();
    callback.close();
  }
});

/** A RIC with an emulated RAN, and a service at it. */
async function running() {
  const ric = await startRic();
  startRan(ric, ["--scenario", STREET]);
  const rnis = await startRnis(ric, { args: ["--period-ms", "200"] });
  return { ric, rnis };
}

/** An application that answers notifications with a status. Returns its callback. */
async function application(status) {
  const callback = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(status).end());
  });
  callbacks.push(callback);
  await new Promise((done) => callback.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${callback.address().port}/notifications`;
}

const CRITERIA = { NrMeasRepUeSubscription: "filterCriteriaNrMrs", CellChangeSubscription: "filterCriteriaAssocHo", MeasTaSubscription: "filterCriteriaAssoc" };

/** Subscribes. Returns the path of the subscription. */
async function subscribe(rnis, type, callbackReference) {
  const created = await send(rnis, "POST", "/rni/v2/subscriptions", { subscriptionType: type, callbackReference, [CRITERIA[type]]: {} });
  return new URL(created._links.self.href).pathname;
}

async function unsubscribe(rnis, path) {
  const response = await fetch(rnis.rest + path, { method: "DELETE" });
  assert.equal(response.status, 204);
}

const figure = (page, name) => page.locator(".figure", { has: page.getByText(name, { exact: true }) }).locator("dd").textContent();

test("every view of the demo loads and updates without console errors", async () => {
  const rnis = await startRnisDemo();
  const page = await openPage(browser, rnis);
  await page.getByText("connected", { exact: true }).first().waitFor();
  for (const view of VIEWS) {
    await page.locator(`nav a[href="#${view}"]`).click();
    await page.locator(`nav a[href="#${view}"][aria-current=page]`).waitFor();
    await page.waitForTimeout(1500);
    assert.equal(await page.locator("main h2").count(), 1, view);
  }
  await page.locator('nav a[href="#overview"]').click();
  await eventually("notifications per second", async () => Number(await figure(page, "Notifications/s")) > 1);
  await eventually("a latency", async () => /^[0-9.]+ (µs|ms|s)$/.test(await figure(page, "p99 of 5 s")));
  await page.locator(".chart canvas").first().waitFor();
  assert.equal(await figure(page, "Subscriptions"), "2");
  const events = page.getByRole("region", { name: "Types" }).locator("tr", { hasText: "NrMeasRepUe" }).locator("td").nth(2);
  const first = Number(await events.textContent());
  await eventually("more events", async () => Number(await events.textContent()) > first);
  assert.deepEqual(page.errors, []);
});

test("subscription appears with its rate and vanishes", async () => {
  const { rnis } = await running();
  const page = await openPage(browser, rnis, { view: "subscriptions" });
  await page.getByText("There is no subscription.").waitFor();
  const callback = await application(204);
  const path = await subscribe(rnis, "NrMeasRepUeSubscription", callback);
  const row = page.getByRole("region", { name: "Subscriptions" }).locator("tbody tr", { hasText: "NrMeasRepUe" });
  await row.waitFor();
  const cells = () => row.locator("th, td").allTextContents();
  await eventually("a rate and a latency", async () => {
    const [id, type, criteria, channel, state, rate, , dropped, latency, failure] = await cells();
    return (
      path.endsWith(`/${id}`) && type === "NrMeasRepUev2" && criteria === "every event" && channel === `${new URL(callback).host}callback, http` && state === "activebreaker closed" &&
      Number(rate) > 0 && dropped === "0" && /^[0-9.]+ (µs|ms|s)[0-9.]+ (µs|ms|s)$/.test(latency) && failure === "none"
    );
  });
  await unsubscribe(rnis, path);
  await row.waitFor({ state: "detached" });
  assert.deepEqual(page.errors, []);
});

test("failing callback has an open breaker and its last failure", async () => {
  const { rnis } = await running();
  const page = await openPage(browser, rnis, { view: "subscriptions" });
  await subscribe(rnis, "NrMeasRepUeSubscription", await application(500));
  const row = page.getByRole("region", { name: "Subscriptions" }).locator("tbody tr");
  await row.getByText("answered with status 500").waitFor();
  await eventually("an open breaker", async () => {
    const [, , , , state, , waiting] = await row.locator("th, td").allTextContents();
    return /^failingbreaker (open|half-open)$/.test(state) && Number.parseInt(waiting, 10) > 0;
  });
  await page.locator('nav a[href="#overview"]').click();
  await eventually("it is counted", async () => (await figure(page, "Open breakers")) === "1");
});

test("notifications are listed with their bodies and filtered by type", async () => {
  const { rnis } = await running();
  const callback = await application(204);
  await subscribe(rnis, "NrMeasRepUeSubscription", callback);
  await subscribe(rnis, "MeasTaSubscription", callback);
  const page = await openPage(browser, rnis, { view: "notifications" });
  const list = page.getByRole("region", { name: "Notifications, the newest first" });
  await list.getByRole("button", { name: "NrMeasRepUe" }).first().waitFor();
  await list.getByRole("button", { name: "MeasTa" }).first().waitFor();
  await page.getByLabel("Type").selectOption("MeasTa");
  await eventually("no measurement report", async () => (await list.getByText("NrMeasRepUe").count()) === 0);
  await page.getByRole("button", { name: "Pause" }).click();
  await list.getByRole("button", { name: "MeasTa" }).first().press("Enter");
  const tree = page.getByRole("region", { name: "The notification" });
  await tree.getByText("timingAdvance").waitFor();
  await tree.getByText("10.45.0.").first().waitFor();
  const streams = async () => Number(/^ferric_http_streams (\d+)$/m.exec(await (await fetch(`${rnis.rest}/metrics`)).text())[1]);
  // that of the overview is left
  await eventually("the end of the stream", async () => (await streams()) === 1);
  await page.getByRole("button", { name: "Continue" }).click();
  await eventually("a stream", async () => (await streams()) === 2);
  assert.deepEqual(page.errors, []);
});

test("network has the cells and UEs of the service", async () => {
  const { rnis } = await running();
  const page = await openPage(browser, rnis, { view: "network" });
  await page.getByRole("region", { name: "Cells" }).getByText("003800001").waitFor();
  const ues = page.getByRole("region", { name: "UEs" }).locator("tbody tr");
  await ues.filter({ hasText: "IPv4 10.45.0." }).first().waitFor();
  await eventually("PRBs", async () => (await page.getByRole("region", { name: "Cells" }).getByText(/^[0-9]+ %$/).count()) > 0);
  assert.deepEqual(page.errors, []);
});

test("page connects again after a restart of the service, and shows a lost RIC", async () => {
  const { ric, rnis } = await running();
  await subscribe(rnis, "NrMeasRepUeSubscription", await application(204));
  const page = await openPage(browser, rnis);
  await eventually("a subscription", async () => (await figure(page, "Subscriptions")) === "1");
  const address = rnis.rest.replace("http://", "");
  await stop(rnis);
  await page.getByText("not connected: trying again").waitFor();
  const again = await startRnis(ric, { rest: address });
  await eventually("no subscription", async () => (await figure(page, "Subscriptions")) === "0");
  await eventually("the nodes", async () => /connected, [1-9]/.test(await page.locator(".sources dd").filter({ hasText: "E2 node" }).textContent()));
  await stop(ric);
  await page.locator(".sources").getByText("not connected").waitFor();
  assert.ok(again.rest === rnis.rest);
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in ${colorScheme} colors`, async () => {
    const { rnis } = await running();
    await subscribe(rnis, "NrMeasRepUeSubscription", await application(204));
    await subscribe(rnis, "CellChangeSubscription", await application(500));
    const page = await openPage(browser, rnis, { colorScheme });
    for (const view of VIEWS) {
      await page.locator(`nav a[href="#${view}"]`).click();
      await page.waitForTimeout(2500);
      if (view === "notifications") await page.getByRole("button", { name: "NrMeasRepUe" }).first().click();
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`);
      assert.deepEqual(found, [], view);
    }
  });
}

test("views fit a phone without horizontal scrolling", async () => {
  const { rnis } = await running();
  await subscribe(rnis, "NrMeasRepUeSubscription", await application(500));
  const page = await openPage(browser, rnis, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  for (const view of VIEWS) {
    await page.locator(`nav a[href="#${view}"]`).click();
    await page.waitForTimeout(2000);
    if (view === "notifications") await page.getByRole("button", { name: "NrMeasRepUe" }).first().click();
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window && window <= 360, `${view}: ${content} of ${window} pixels`);
  }
});

test("every view and control is reached by the keyboard", async () => {
  const { rnis } = await running();
  await subscribe(rnis, "NrMeasRepUeSubscription", await application(204));
  const page = await openPage(browser, rnis);
  await page.getByText("connected", { exact: true }).first().waitFor();
  for (const view of VIEWS) {
    await page.locator(`nav a[href="#${view}"]`).focus();
    await page.keyboard.press("Enter");
    await page.locator(`nav a[href="#${view}"][aria-current=page]`).waitFor();
  }
  await page.locator('nav a[href="#notifications"]').focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "NrMeasRepUe" }).first().waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator('nav a[href="#notifications"]').focus();
  const reached = new Set();
  for (let step = 0; step < 12; step++) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => document.activeElement?.closest("main") && document.activeElement.tagName);
    if (name) reached.add(name);
  }
  // the choice, the buttons, and the list, which scrolls
  assert.deepEqual([...reached].sort(), ["BUTTON", "DIV", "SELECT"]);
});

test("page loads nothing but its own files, under a policy without inline code", async () => {
  const { rnis } = await running();
  const urls = [];
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on("request", (request) => urls.push(request.url()));
  const answer = await page.goto(`${rnis.rest}/`);
  const policy = answer.headers()["content-security-policy"];
  assert.ok(policy.includes("default-src 'none'") && !policy.includes("unsafe-inline"), policy);
  await page.getByText("connected", { exact: true }).first().waitFor();
  assert.ok(urls.length >= 4 && urls.every((url) => url.startsWith(`${rnis.rest}/`)), urls.join("\n"));
  assert.equal((await get(rnis, "/rnis/v1/subscriptions")).subscriptions.length, 0);
});
