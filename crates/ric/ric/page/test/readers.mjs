// Plain clients of a RIC that read what as many pages with the view KPIs read, without a browser: node test/readers.mjs URL NUMBER.
// Prints `ready` once all streams are open, and, after SIGTERM, the events that were read.

import { get as httpGet } from "node:http";

const [, , rest, number] = process.argv;
// those of UE_MEASUREMENTS in src/kpm.ts
const KPM = "/v1/kpm/stream?measurements=DRB.UEThpDl,DRB.UEThpUl,RRU.PrbTotDl,RRU.PrbTotUl&period_ms=100";
const STREAMS = [KPM, "/v1/events?topics=nodes,ues,controls,log"];
/** The resources that the view reads, and how often. */
const POLLED = [
  ["/v1/nodes", 2000],
  ["/v1/ues", 2000],
];

let events = 0;
let open = 0;

function read(path) {
  httpGet(rest + path, { headers: { Accept: "text/event-stream" } }, (response) => {
    if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
    open += 1;
    if (open === Number(number) * STREAMS.length) console.log("ready");
    response.setEncoding("latin1");
    response.on("data", (text) => {
      events += text.split("\ndata:").length - 1;
    });
  });
}

for (let page = 0; page < Number(number); page++) {
  STREAMS.forEach(read);
  for (const [path, period_ms] of POLLED) setInterval(() => httpGet(rest + path, (response) => response.resume()), period_ms);
}
process.on("SIGTERM", () => {
  console.log(JSON.stringify({ events }));
  process.exit(0);
});
