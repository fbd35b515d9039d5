// Makes the figures of docs/page.md: node test/screenshots.mjs FOLDER.

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { eventually, get, openPage, root, send, startBrowser, startRan, startRic, startXapp, stopAll } from "../../../../base/http/page/test/processes.mjs";

const NODE = "gnb-00101-e00";
const folder = process.argv[2] ?? ".";

const browser = await startBrowser();

async function shoot(page, view, name, seconds, before = async () => undefined) {
  await page.locator(`nav a[href="#${view}"]`).click();
  await before(page);
  await page.waitForTimeout(seconds * 1000);
  await page.screenshot({ path: join(folder, `page-${name}.png`) });
}

// one gNB with two slices
{
  const ric = await startRic();
  startRan(ric, ["--ues", "32"]);
  await eventually("slices", () => get(ric, `/v1/nodes/${NODE}/slices`));
  const half = (id, label, share_percent) => ({ id, label, ue_scheduler: "PF", share_percent });
  await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, { algorithm: "NVS", sharing: true, slices: [half(1, "broadband", 60), half(2, "low delay", 30)] });
  const { ues } = await get(ric, `/v1/nodes/${NODE}/ues`);
  for (const [number, { rnti }] of ues.entries()) await send(ric, "PUT", `/v1/nodes/${NODE}/ues/${rnti}/slices`, { dl: 1 + (number % 2) });
  await send(ric, "POST", `/v1/nodes/${NODE}/tc/queues`, { kind: "codel", target_ms: 5, interval_ms: 100 });
  const viewport = { width: 1000, height: 640 };
  const light = await openPage(browser, ric, { viewport, colorScheme: "light" });
  await light.setViewportSize({ width: 1000, height: 900 });
  await shoot(light, "kpis", "kpis", 70);
  await light.setViewportSize(viewport);
  await shoot(light, "slices", "slices", 4, async (page) => {
    const border = page.getByRole("slider", { name: "End of broadband" });
    await border.focus();
    await page.keyboard.press("ArrowLeft");
    await page.getByText("The node has accepted").waitFor();
  });
  await shoot(light, "decode", "decode", 2, async (page) => {
    await page.getByLabel("Octets").fill(readFileSync(resolve(root, "vectors/e2ap/v02.03/e2_setup_request-minimal.hex"), "utf8"));
    await page.getByRole("button", { name: "Decode" }).click();
  });
  await light.setViewportSize({ width: 1000, height: 960 });
  await shoot(light, "messages", "messages", 4, async (page) => {
    await page.getByRole("checkbox", { name: "Hide indications" }).check();
    await send(ric, "PUT", `/v1/nodes/${NODE}/slices/dl`, { algorithm: "NVS", sharing: true, slices: [half(1, "broadband", 55), half(2, "low delay", 35)] });
    await page.getByRole("button", { name: "RicControlRequest" }).first().click();
    await page.getByRole("region", { name: "The decoded message" }).waitFor();
  });
  await light.setViewportSize(viewport);
  startXapp(ric, "kpm", ["--period-ms", "100"]);
  await shoot(light, "subscriptions", "subscriptions", 6);
  const dark = await openPage(browser, ric, { viewport, colorScheme: "dark" });
  await shoot(dark, "latency", "latency", 10);
  const phone = await openPage(browser, ric, { viewport: { width: 360, height: 640 }, colorScheme: "dark", isMobile: true, hasTouch: true });
  await shoot(phone, "slices", "phone", 5);
  await stopAll();
}

// seven sites, whose UEs move
{
  const ric = await startRic();
  startRan(ric, ["--scenario", resolve(root, "examples/scenarios/hex7.toml"), "--positions", ric.rest]);
  await eventually("UEs", async () => (await get(ric, "/v1/ues")).ues.length > 0);
  const page = await openPage(browser, ric, { viewport: { width: 1000, height: 820 }, colorScheme: "light" });
  await shoot(page, "map", "map", 30);
  await shoot(page, "topology", "topology", 3);
  await stopAll();
}

await browser.close();
