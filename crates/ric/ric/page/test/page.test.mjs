// The page in a real Chromium, against a real RIC and an emulated RAN.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { eventually, get, openPage, send, startBrowser, startRan, startRic, startXapp, stop, stopAll, stopAllBut } from "../../../../base/http/page/test/processes.mjs";

const NODE = "gnb-00101-e00";
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["topology", "cells", "kpis", "slices", "traffic", "map", "subscriptions", "messages", "alarms", "events", "latency", "decode"];
const HALVES = {
  algorithm: "NVS",
  sharing: true,
  slices: [
    { id: 1, label: "first", ue_scheduler: "PF", share_percent: 50 },
    { id: 2, label: "second", ue_scheduler: "PF", share_percent: 50 },
  ],
};

let browser;
before(async () => {
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  await stopAll();
});

/** A RIC with a node whose slices it knows. */
async function ricWithRan(ranArgs = ["--ues", "8"], ricArgs = []) {
  const ric = await startRic({ args: ricArgs });
  startRan(ric, ranArgs);
  await eventually("the node has reported its slices", () => get(ric, `/v1/nodes/${NODE}/slices`));
  return ric;
}

async function samples(page) {
  return Number(await page.locator("[data-test=samples]").textContent());
}

test("every view loads without console errors", async () => {
  const ric = await ricWithRan();
  const page = await openPage(browser, ric);
  await page.getByText(NODE).first().waitFor();
  for (const view of VIEWS) {
    await page.locator(`nav a[href="#${view}"]`).click();
    await page.locator(`nav a[href="#${view}"][aria-current=page]`).waitFor();
    await page.waitForTimeout(1500);
    assert.equal(await page.locator("main h2").count(), 1, view);
  }
  assert.deepEqual(page.errors, []);
});

test("KPIs of UEs, slices and nodes keep arriving", async () => {
  const ric = await ricWithRan();
  const page = await openPage(browser, ric, { view: "kpis" });
  for (const scope of ["ue", "slice", "cell"]) {
    await page.locator(".choices select").first().selectOption(scope);
    await eventually(`samples per ${scope}`, async () => (await samples(page)) > 0);
    const first = await samples(page);
    await eventually(`more samples per ${scope}`, async () => (await samples(page)) > first);
    await page.locator(".chart canvas").waitFor();
    const rows = page.locator("tbody tr");
    await eventually(`rows per ${scope}`, async () => (await rows.count()) === (scope === "ue" ? 8 : 1));
  }
  assert.deepEqual(page.errors, []);
});

test("dragged border changes the slices of the emulated cell", async () => {
  const ric = await ricWithRan();
  await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, HALVES);
  const page = await openPage(browser, ric, { view: "slices" });
  const handle = page.getByRole("slider", { name: "End of first" });
  await handle.waitFor();
  const bar = await page.locator(".bar").first().boundingBox();
  const at = await handle.boundingBox();
  await page.mouse.move(at.x + at.width / 2, at.y + at.height / 2);
  await page.mouse.down();
  await page.mouse.move(bar.x + bar.width * 0.6, bar.y + bar.height / 2, { steps: 5 });
  await page.mouse.move(bar.x + bar.width * 0.7, bar.y + bar.height / 2, { steps: 5 });
  await page.mouse.up();
  const shares = async () => (await get(ric, `/v1/nodes/${NODE}/slices/dl`)).slices.map((slice) => slice.share_percent);
  await eventually("the cell has the dragged shares", async () => {
    const [first, second] = await shares();
    return Math.abs(first - 70) <= 1 && Math.abs(second - 30) <= 1;
  });
  await page.getByText("The node has accepted").waitFor();
});

test("keys move a border of the slices", async () => {
  const ric = await ricWithRan();
  await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, HALVES);
  const page = await openPage(browser, ric, { view: "slices" });
  const handle = page.getByRole("slider", { name: "End of first" });
  await handle.focus();
  for (const key of ["PageUp", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await eventually("the cell has the shares of the keys", async () => {
    const { slices } = await get(ric, `/v1/nodes/${NODE}/slices/dl`);
    return slices[0].share_percent === 62 && slices[1].share_percent === 38;
  });
  assert.equal(await handle.getAttribute("aria-valuenow"), "62");
});

test("refused change of slices shows the reason and the shares in force", async () => {
  const ric = await startRic({ args: ["--rest-tokens", tokenFile(`read ${TOKEN}\n`)] });
  startRan(ric, ["--ues", "2"]);
  await eventually("the node has reported its slices", () => get(ric, `/v1/nodes/${NODE}/slices`, TOKEN));
  const page = await openPage(browser, ric, { view: "slices" });
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("button", { name: "Create two slices" }).click();
  await page.getByRole("alert").filter({ hasText: /role|control/ }).waitFor();
  assert.deepEqual((await get(ric, `/v1/nodes/${NODE}/slices/dl`, TOKEN)).slices, []);
});

test("page connects again after a restart of the RIC", async () => {
  const ric = await ricWithRan();
  const page = await openPage(browser, ric, { view: "kpis" });
  await eventually("samples", async () => (await samples(page)) > 0);
  await stop(ric);
  await page.getByText("not connected: trying again").waitFor();
  const address = ric.rest.replace("http://", "");
  await startRic({ e2: ric.e2, rest: address });
  await page.getByText("connected", { exact: true }).waitFor();
  const first = await samples(page);
  await eventually("samples after the restart", async () => (await samples(page)) > first);
});

const TOKEN = "0123456789abcdefghij";
const folder = mkdtempSync(join(tmpdir(), "ferric-page-"));
after(() => rmSync(folder, { recursive: true }));

function tokenFile(content) {
  const path = join(folder, "rest.tokens");
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

test("page asks for a token and keeps it out of the address", async () => {
  const ric = await startRic({ args: ["--rest-tokens", tokenFile(`read ${TOKEN}\n`)] });
  startRan(ric, ["--ues", "2"]);
  const page = await openPage(browser, ric);
  const urls = [];
  page.on("request", (request) => urls.push(request.url()));
  page.on("websocket", (socket) => urls.push(socket.url()));
  await page.getByLabel("Token").fill("a-wrong-token-of-20-letters");
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("alert").filter({ hasText: "does not accept" }).waitFor();
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByText(NODE).first().waitFor();
  await page.locator('nav a[href="#kpis"]').click();
  await eventually("samples with a token", async () => (await samples(page)) > 0);
  assert.ok(urls.length > 0 && urls.every((url) => !url.includes(TOKEN)), urls.join("\n"));
  // another tab of the same browser has no access
  const other = await page.context().newPage();
  await other.goto(ric.rest);
  await other.getByLabel("Token").waitFor();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in ${colorScheme} colors`, async () => {
    const ric = await ricWithRan();
    await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, HALVES);
    const page = await openPage(browser, ric, { colorScheme });
    for (const view of VIEWS) {
      await page.locator(`nav a[href="#${view}"]`).click();
      await page.waitForTimeout(2500);
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join("; ")}`);
      assert.deepEqual(found, [], view);
    }
  });
}

test("views fit a phone without horizontal scrolling", async () => {
  const ric = await ricWithRan();
  await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, HALVES);
  const page = await openPage(browser, ric, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  for (const view of VIEWS) {
    await page.locator(`nav a[href="#${view}"]`).click();
    await page.waitForTimeout(2000);
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= window && window <= 360, `${view}: ${content} of ${window} pixels`);
  }
});

test("every view and control is reached by the keyboard", async () => {
  const ric = await ricWithRan();
  const page = await openPage(browser, ric);
  await page.getByText(NODE).first().waitFor();
  for (const view of VIEWS) {
    await page.locator(`nav a[href="#${view}"]`).focus();
    await page.keyboard.press("Enter");
    await page.locator(`nav a[href="#${view}"][aria-current=page]`).waitFor();
  }
  await page.locator('nav a[href="#kpis"]').focus();
  await page.keyboard.press("Enter");
  const reached = new Set();
  const wanted = await page.locator("main select, main input, main button, main [tabindex='0']").count();
  for (let step = 0; step < 40 && reached.size < wanted; step++) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => document.activeElement?.closest("main") && document.activeElement.outerHTML.slice(0, 80));
    if (name) reached.add(name);
  }
  assert.ok(wanted > 0 && reached.size >= Math.min(wanted, 4), `${reached.size} of ${wanted}`);
});

test("events are listed and filtered", async () => {
  const ric = await startRic();
  const page = await openPage(browser, ric, { view: "events" });
  await page.getByText("connected", { exact: true }).waitFor();
  startRan(ric, ["--ues", "2"]);
  const log = page.getByRole("region", { name: "Events, the newest first" });
  await log.getByText("node_up").waitFor();
  await log.getByText("ue_present").or(log.getByText("ue_attached")).first().waitFor();
  await page.getByRole("checkbox", { name: "UEs" }).uncheck();
  await eventually("no event of a UE", async () => (await log.locator(".topic.ues").count()) === 0);
  await page.getByLabel("Filter").fill("node_up no such text");
  await page.getByText("No event matches").waitFor();
});

test("alarms are listed until they are over", async () => {
  const ric = await startRic({ args: ["--oran-rest", "127.0.0.1:0"] });
  const ran = startRan(ric, ["--ues", "2"]);
  await eventually("a node", async () => (await get(ric, "/v1/nodes")).nodes.length === 1);
  const page = await openPage(browser, ric, { view: "alarms" });
  await page.getByText("No alarm is active").waitFor();
  const minor = { managedObjectId: "RIC", applicationId: "slicer", specificProblem: 72901, perceivedSeverity: "MINOR", identifyingInfo: "slicer" };
  await send({ rest: ric["oran-rest"] }, "POST", "/ric/v1/alarms", minor);
  // one that leaves regularly has no alarm
  ran.kill("SIGKILL");
  const rows = page.getByRole("region", { name: "Active alarms" }).locator("tbody tr");
  await eventually("two alarms", async () => (await rows.count()) === 2);
  const cells = await rows.first().locator("th, td").allTextContents();
  assert.deepEqual([cells[0], cells[1], cells[4]], ["Critical", NODE, "RIC/ferric 8006"]);
  assert.ok(Math.abs(Date.parse(cells[2]) - Date.now()) < 60_000, cells[2]);
  assert.match(cells[3], /^E2 CONNECTIVITY LOST TO G-NODEB.*ferric doctor/);
  assert.match(await rows.last().textContent(), /^Minorslicer.*XAPP READS TOO SLOWLY/);
  startRan(ric, ["--ues", "2"]);
  await eventually("the node is back", async () => (await rows.count()) === 1);
  assert.deepEqual(page.errors, []);
});

test("traffic control shows the queues with their sojourn times", async () => {
  const ric = await ricWithRan(["--ues", "4"]);
  await send(ric, "POST", `/v1/nodes/${NODE}/tc/queues`, { kind: "fifo" });
  const page = await openPage(browser, ric, { view: "traffic" });
  await eventually("two queues", async () => (await page.locator("tbody tr").count()) === 2);
  await page.locator("meter").first().waitFor();
});

test("subscriptions have rates, and xApps what waits for them", async () => {
  const ric = await ricWithRan();
  startXapp(ric, "kpm", ["--period-ms", "20"]);
  const page = await openPage(browser, ric, { view: "subscriptions" });
  const cells = (row) => row.locator("th, td").allTextContents();
  const subscription = page.getByRole("region", { name: "Subscriptions", exact: true }).locator("tbody tr", { hasText: "ferric-kpm (1)" }).first();
  await subscription.waitFor();
  await eventually("a rate and an age", async () => {
    const [, node, , state, indications, octets, dropped, newest] = await cells(subscription);
    return node === NODE && state === "active" && Number(indications) > 1 && /[1-9].* k?B$/.test(octets) && dropped === "0" && newest.endsWith(" ago");
  });
  const xapp = await cells(page.getByRole("region", { name: "xApps" }).locator("tbody tr").first());
  assert.deepEqual(xapp.slice(0, 2), ["ferric-kpm", "1"]);
  assert.match(xapp[2], /B$/);
  assert.equal(xapp[3], "0");
  assert.deepEqual(page.errors, []);
});

test("messages of a node are listed while the view is shown, and decoded", async () => {
  const ric = await ricWithRan();
  const page = await openPage(browser, ric, { view: "messages" });
  const list = page.getByRole("region", { name: "Messages, the newest first" });
  await list.getByText("RicIndication").first().waitFor();
  await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, HALVES);
  await page.getByRole("checkbox", { name: "Hide indications" }).check();
  await list.getByRole("button", { name: "RicControlAcknowledge" }).waitFor();
  await eventually("no indication", async () => (await list.getByText("RicIndication").count()) === 0);
  const request = list.locator("tr", { hasText: "RicControlRequest" }).first();
  assert.match(await request.textContent(), /RIC → node/);
  await request.getByRole("button").press("Enter");
  const tree = page.getByRole("region", { name: "The decoded message" });
  await tree.getByText("ran_function_id").waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  const streams = async () => {
    const text = await (await fetch(`${ric.rest}/metrics`)).text();
    return Number(/^ferric_http_streams (\d+)$/m.exec(text)[1]);
  };
  // that of the events is left
  await eventually("the end of the stream", async () => (await streams()) === 1);
  await page.getByRole("button", { name: "Continue" }).click();
  await eventually("a stream", async () => (await streams()) === 2);
  await page.locator('nav a[href="#topology"]').click();
  await eventually("the end of the stream with the view", async () => (await streams()) === 1);
  assert.deepEqual(page.errors, []);
});

test("messages are refused without the role control", async () => {
  const ric = await startRic({ args: ["--rest-tokens", tokenFile(`read ${TOKEN}\n`)] });
  startRan(ric, ["--ues", "2"]);
  await eventually("a node", async () => (await get(ric, "/v1/nodes", TOKEN)).nodes.length === 1);
  const page = await openPage(browser, ric, { view: "messages" });
  await page.getByLabel("Token").fill(TOKEN);
  await page.getByRole("button", { name: "Connect" }).click();
  await page.getByRole("alert").filter({ hasText: /control/ }).waitFor();
});

test("locked cell is shown in the topology and among the cells", async () => {
  const scenario = join(folder, "lock.toml");
  const lock = '[[at]]\ntime_s = 1\ndo = "lock"\ncell = 0\n[[at]]\ntime_s = 1\ndo = "sleep"\ncell = 1\n';
  writeFileSync(scenario, `[[cell]]\ncount = 2\n[[ue]]\nsinr_db = 20\n${lock}`);
  const ric = await startRic();
  startRan(ric, ["--scenario", scenario]);
  const page = await openPage(browser, ric);
  await page.locator(".cells li", { hasText: "003800001" }).getByText("locked", { exact: true }).waitFor();
  await page.locator(".cells li", { hasText: "003804001" }).getByText("energy saving").waitFor();
  await page.locator('nav a[href="#cells"]').click();
  const cell = (id) => page.getByRole("region", { name: "Cells" }).locator("tbody tr", { hasText: id });
  await cell("003800001").getByText("locked", { exact: true }).waitFor();
  await cell("003804001").getByText("saving", { exact: true }).waitFor();
  await cell("003804001").getByText("unlocked", { exact: true }).waitFor();
  assert.deepEqual(page.errors, []);
});

test("state of a node is not divided between lines on a phone", async () => {
  const ric = await ricWithRan();
  const page = await openPage(browser, ric, { viewport: { width: 360, height: 740 } });
  const badge = page.locator(".parts .state", { hasText: "E2AP v" });
  await badge.waitFor();
  assert.equal(await badge.evaluate((element) => element.getClientRects().length), 1);
  assert.ok((await badge.boundingBox()).height < 30);
});

test("pasted message is decoded to a tree, and what is none is refused", async () => {
  const ric = await startRic();
  const page = await openPage(browser, ric, { view: "decode" });
  await page.getByLabel("Type").fill("mac-plain:EventTriggerDefinition");
  await page.getByLabel("Octets").fill("e8 03 00 00");
  await page.getByRole("button", { name: "Decode" }).click();
  await page.getByRole("region", { name: "The decoded message" }).getByText("period_ms").waitFor();
  await page.getByLabel("Octets").fill("e8");
  await page.getByRole("button", { name: "Decode" }).click();
  await page.getByRole("alert").filter({ hasText: "not a mac-plain:EventTriggerDefinition" }).waitFor();
});

test("map shows stated positions, and says where there are none", async () => {
  const ric = await ricWithRan(["--nodes", "2", "--ues", "4"]);
  const page = await openPage(browser, ric, { view: "map" });
  await page.getByText("Positions are unknown").waitFor();
  await stopAllBut(ric);
  startRan(ric, ["--nodes", "2", "--ues", "4", "--positions", ric.rest]);
  await page.getByText("At their positions").waitFor();
  const ues = page.locator(".map .ue");
  await eventually("eight UEs", async () => (await ues.count()) === 8);
  const at = async () => ues.evaluateAll((all) => all.map((ue) => ue.style.transform).join());
  const first = await at();
  await eventually("UEs move", async () => (await at()) !== first);
});

test("positions of UEs are the ones that the emulated RAN has stated", async () => {
  const ric = await startRic();
  startRan(ric, ["--nodes", "3", "--ues", "2", "--positions", ric.rest]);
  const { cells, ues } = await eventually("positions", async () => {
    const stated = await get(ric, "/v1/positions");
    return stated.ues.length === 6 && stated;
  });
  assert.deepEqual(cells.map(({ cell, x_m, y_m }) => [cell, x_m, y_m]), [
    ["003800001", 0, 0],
    ["003804001", 1000, 0],
    ["003808001", 2000, 0],
  ]);
  // UEs are within 450 m of their cells (docs/model.md)
  const named = await eventually("names", async () => {
    const all = (await get(ric, "/v1/ues")).ues;
    return all.length === 6 && all.every((ue) => ue.cell && ue.ip) && all;
  });
  for (const { ue, x_m, y_m } of ues) {
    const { cell } = named.find(({ references }) => references.includes(ue));
    const mast = cells.find((of) => of.cell === cell);
    assert.ok(Math.hypot(x_m - mast.x_m, y_m - mast.y_m) <= 500, `${ue} of ${cell}: ${x_m}, ${y_m}`);
  }
});
