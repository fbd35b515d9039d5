// Measures the page: the processor time of Chromium's renderer while KPIs arrive, and the round trip through the RIC with ten open
// pages and without any. Prints one line of JSON for each figure. FERRIC_PROGRAM is to be a release build.

import { execFile, spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { eventually, get, openPage, prefix, program, startBrowser, startRan, startRic, stopAll } from "../../../../base/http/page/test/processes.mjs";

const NODE = "gnb-00101-e00";
const MEASUREMENTS = 4;
const SECONDS = Number(process.env.FERRIC_MEASURE_SECONDS ?? 30);
const PAGES = 10;
const ROUNDS = Number(process.env.FERRIC_MEASURE_ROUNDS ?? 5);

const sleep = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const round = (value) => Math.round(value * 10) / 10;

/** The processor seconds of Chromium's processes by their kind. */
async function processorSeconds(session) {
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sums = {};
  for (const { type, cpuTime } of processInfo) sums[type] = (sums[type] ?? 0) + cpuTime;
  return sums;
}

/** The renderer while `ues` UEs are reported every 100 ms, with four values each. */
async function renderer(ues) {
  const ric = await startRic();
  startRan(ric, ["--ues", String(ues)]);
  await eventually("slices", () => get(ric, `/v1/nodes/${NODE}/slices`));
  const browser = await startBrowser();
  const page = await openPage(browser, ric, { view: "kpis" });
  await page.getByLabel("Period").selectOption("100");
  await eventually("rows", async () => (await page.locator("tbody tr").count()) >= Math.min(ues, 100));
  const session = await browser.newBrowserCDPSession();
  const samples = async () => Number(await page.locator("[data-test=samples]").textContent());
  await sleep(5);
  const [before, samplesBefore, begin] = [await processorSeconds(session), await samples(), performance.now()];
  await sleep(SECONDS);
  const [after, samplesAfter, end] = [await processorSeconds(session), await samples(), performance.now()];
  const seconds = (end - begin) / 1000;
  const percent = Object.fromEntries(Object.keys(after).map((kind) => [kind, round(((after[kind] - (before[kind] ?? 0)) * 100) / seconds)]));
  const rate = Math.round((samplesAfter - samplesBefore) / seconds);
  const lost = Number(await page.locator(".figure", { hasText: "Rows lost" }).locator("dd").textContent());
  console.log(
    JSON.stringify({ samples_per_s: rate, rows_per_s: Math.round(rate / MEASUREMENTS), lost, percent_of_a_core: percent, load: loadavg()[0] }),
  );
  await browser.close();
  await stopAll();
}

/** The round trips of `ferric xapp ping`: from an xApp through the RIC to the node and back. */
async function ping(ric) {
  const args = ["xapp", "ping", "--ric", ric.xapp, "--period-ms", "20", "--seconds", String(SECONDS), "--log", "error"];
  const [file, ...before] = [...prefix, program];
  const { stdout } = await promisify(execFile)(file, [...before, ...args], { maxBuffer: 1 << 24 });
  const last = stdout.trim().split("\n").at(-1);
  return Object.fromEntries([...last.matchAll(/(\w+)=([\d.]+)/g)].map(([, name, value]) => [name, Number(value)]));
}

/** The processor milliseconds of each thread of a program so far. */
function threadTimes(child) {
  const times = {};
  for (const thread of readdirSync(`/proc/${child.pid}/task`)) {
    const stat = readFileSync(`/proc/${child.pid}/task/${thread}/stat`, "utf8");
    // proc(5): utime and stime are the 14th and 15th field, in hundredths of a second
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const name = stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"));
    times[name] = (times[name] ?? 0) + 10 * (Number(fields[11]) + Number(fields[12]));
  }
  return times;
}

/** The round trips through a RIC, and the processor time of its threads meanwhile. */
async function observe(ric, readers) {
  const [before, begin] = [threadTimes(ric), performance.now()];
  const trips = await ping(ric);
  const [after, seconds] = [threadTimes(ric), (performance.now() - begin) / 1000];
  const percent = Object.fromEntries(Object.keys(after).map((name) => [name, round((after[name] - (before[name] ?? 0)) / 10 / seconds)]));
  console.log(JSON.stringify({ readers, ...trips, percent_of_a_core: percent, load: loadavg()[0] }));
}

/** Ten pages in a browser on the second processor. Returns how to close them. */
async function openPages(ric) {
  const browser = await startBrowser();
  for (let count = 0; count < PAGES; count++) {
    const page = await openPage(browser, ric, { view: "kpis" });
    await page.getByLabel("Period").selectOption("100");
  }
  const { processInfo } = await (await browser.newBrowserCDPSession()).send("SystemInfo.getProcessInfo");
  for (const { id } of processInfo) await promisify(execFile)("taskset", ["-a", "-c", "-p", "1", String(id)]);
  return () => browser.close();
}

/** Plain clients on the second processor, which read what ten pages read. Returns how to end them. */
async function openReaders(ric) {
  const script = fileURLToPath(new URL("readers.mjs", import.meta.url));
  const child = spawn("taskset", ["-c", "1", process.execPath, script, ric.rest, String(PAGES)], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (piece) => {
    text += piece;
  });
  await eventually("the streams", () => text.includes("ready"));
  return async () => {
    child.kill("SIGTERM");
    await new Promise((done) => child.on("exit", done));
    console.log(text.trim().split("\n").at(-1));
  };
}

/** The round trip without readers, with ten plain readers and with ten pages, in turn. The RIC, the RAN and the xApp have the first
 * processor, the readers the second. */
async function pings(kinds) {
  // before other users of the machine, where that is permitted
  prefix.push("nice", "-n", "-10", "taskset", "-c", "0");
  const ric = await startRic();
  startRan(ric, ["--ues", "25"]);
  await eventually("slices", () => get(ric, `/v1/nodes/${NODE}/slices`));
  for (let number = 1; number <= ROUNDS; number++) {
    await observe(ric, "none");
    for (const [name, open] of kinds) {
      const close = await open(ric);
      await sleep(5);
      await observe(ric, name);
      await close();
      await sleep(2);
    }
  }
  await stopAll();
}

// 25 UEs: 1000 values/s; 100 UEs: 1000 rows/s
if (process.argv[2] === undefined) {
  await renderer(25);
  await renderer(100);
}
const clients = ["clients", openReaders];
await pings(process.argv[2] === "clients" ? [clients] : [clients, ["pages", openPages]]);
