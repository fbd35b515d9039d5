// Real programs and a real browser for the tests: `ferric ric`, `ferric ran` and `ferric rnis` on loopback ports of their own.

import { spawn } from "node:child_process";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { chromiumPath } from "./find-chromium.mjs";

/** The folder of the workspace. */
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");

/** The program under test: FERRIC_PROGRAM, else the debug build. */
export const program = process.env.FERRIC_PROGRAM ?? resolve(root, "target/debug/ferric");

/** How long anything may take before a test fails. Machines that run several builds are slow. */
export const PATIENCE_MS = 60_000;

const running = new Set();

/** What is put before each program, such as `taskset -c 0`. */
export const prefix = [];

function start(args) {
  const [file, ...before] = [...prefix, program];
  const child = spawn(file, [...before, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  running.add(child);
  child.log = "";
  child.stderr.on("data", (text) => {
    child.log += text;
  });
  child.ended = new Promise((done) => child.on("exit", done));
  return child;
}

/** Stops a program and waits for its end. */
export async function stop(child) {
  child.kill("SIGINT");
  await child.ended;
  running.delete(child);
}

/** Stops all programs that were started. */
export async function stopAll() {
  await stopAllBut(undefined);
}

/** Stops all programs but one. */
export async function stopAllBut(one) {
  await Promise.all([...running].filter((child) => child !== one).map(stop));
}

/** Waits until a program has printed the address of its page, and returns it with the addresses that it has printed. */
async function withAddresses(child) {
  let text = "";
  const addresses = {};
  await new Promise((done, fail) => {
    child.stdout.on("data", (piece) => {
      text += piece;
      for (const [, name, url] of text.matchAll(/^(e2|xapp|oran-rest|rest|rnis|page)=(\S+)$/gm)) addresses[name] = url;
      if (addresses.page) done();
    });
    child.on("exit", () => fail(new Error(`the program has ended: ${child.log}`)));
    child.on("error", fail);
  });
  return Object.assign(child, { rest: addresses.page.replace(/\/$/, "") }, addresses);
}

/** Starts a RIC. Returns it with its addresses: `e2`, `xapp`, `rest`, and `oran-rest` if there is one. */
export function startRic({ e2 = "tcp://127.0.0.1:0", xapp = "tcp://127.0.0.1:0", rest = "127.0.0.1:0", args = [] } = {}) {
  return withAddresses(start(["ric", "--e2", e2, "--xapp", xapp, "--rest", rest, ...args]));
}

/** Starts an RNIS at a RIC. Returns it with the address of its REST interface: `rest`. */
export function startRnis(ric, { rest = "127.0.0.1:0", args = [] } = {}) {
  return withAddresses(start(["rnis", "--ric", ric.xapp, "--rest", rest, ...args]));
}

/** Starts the demo of the RNIS: a RIC, an emulated RAN, the service and an application. */
export function startRnisDemo({ rest = "127.0.0.1:0", args = [] } = {}) {
  return withAddresses(start(["rnis", "demo", "--rest", rest, ...args]));
}

/** Starts an emulated RAN. */
export function startRan(ric, args = []) {
  return start(["ran", "--ric", ric.e2, ...args]);
}

/** Starts a program of `ferric xapp`. */
export function startXapp(ric, name, args = []) {
  return start(["xapp", name, "--ric", ric.xapp, ...args]);
}

/** Reads a resource. */
export async function get(ric, path, token) {
  const response = await fetch(ric.rest + path, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Sends a request with a body. */
export async function send(ric, method, path, body) {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(ric.rest + path, { method, headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : response.json();
}

/** Waits until `check` returns something. */
export async function eventually(what, check) {
  const end = Date.now() + PATIENCE_MS;
  let last;
  while (Date.now() < end) {
    try {
      const found = await check();
      if (found) return found;
    } catch (error) {
      last = error;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${what}: not within ${PATIENCE_MS / 1000} s${last ? `: ${last}` : ""}`);
}

/** Starts the browser. */
export function startBrowser() {
  return chromium.launch({ executablePath: chromiumPath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Opens the page. Errors of its console are collected in `page.errors`. */
export async function openPage(browser, ric, { view = "", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.errors = [];
  page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
  page.on("pageerror", (error) => page.errors.push(String(error)));
  await page.goto(`${ric.rest}/${view ? `#${view}` : ""}`);
  return page;
}
