// Makes the figures of docs/rnis.md: node test/screenshots.mjs FOLDER.

import { createServer } from "node:http";
import { join } from "node:path";
import { openPage, send, startBrowser, startRnisDemo, stopAll } from "../../../../base/http/page/test/processes.mjs";

const folder = process.argv[2] ?? ".";
const browser = await startBrowser();
const rnis = await startRnisDemo();

// an application beside that of the demo, and one whose callback fails
const subscribe = (subscriptionType, criteria, callbackReference) =>
  send(rnis, "POST", "/rni/v2/subscriptions", { subscriptionType, ...criteria, callbackReference });
const callback = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(request.url === "/broken" ? 500 : 204).end());
});
await new Promise((done) => callback.listen(0, "127.0.0.1", done));
const at = (path) => `http://127.0.0.1:${callback.address().port}${path}`;
const cells = ["003800001", "003804001"].map((cellId) => ({ plmn: { mcc: "001", mnc: "01" }, cellId }));
await subscribe("MeasTaSubscription", { filterCriteriaAssoc: { ecgi: cells } }, at("/location"));
await subscribe("S1BearerSubscription", { eventType: [1, 3], S1BearerSubscriptionCriteria: {} }, at("/bearers"));
const ues = [{ type: 1, value: "10.45.0.2" }];
await subscribe("NrMeasRepUeSubscription", { filterCriteriaNrMrs: { associateId: ues } }, at("/broken"));

const page = await openPage(browser, rnis, { viewport: { width: 1280, height: 760 }, colorScheme: "light" });
const dark = await openPage(browser, rnis, { viewport: { width: 1280, height: 480 }, colorScheme: "dark" });
await dark.locator('nav a[href="#subscriptions"]').click();
await page.waitForTimeout(60_000);
await page.screenshot({ path: join(folder, "rnis-page-overview.png") });
await dark.screenshot({ path: join(folder, "rnis-page-subscriptions.png") });

await browser.close();
callback.closeAllConnections();
callback.close();
await stopAll();
