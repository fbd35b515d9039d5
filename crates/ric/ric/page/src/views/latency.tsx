// Histograms of the RIC's delays.

import { duration, number } from "kit/format";
import { type Histogram, histogramOf, quantileBound } from "../metrics";
import { Empty } from "kit/parts";
import { useMetrics } from "./use_metrics";

const HISTOGRAMS: { name: string; title: string; text: string }[] = [
  { name: "ferric_control_duration_seconds", title: "RIC controls", text: "from the request to the node's answer" },
  { name: "ferric_loop_delay_seconds", title: "Event loop", text: "how long a request waited for the event loop" },
  { name: "ferric_http_request_duration_seconds", title: "REST requests", text: "of all resources" },
];

export function LatencyView() {
  const readings = useMetrics(2000);
  if (!readings) return null;
  return (
    <>
      {HISTOGRAMS.map(({ name, title, text }) => (
        <section key={name} class="histogram" aria-label={title}>
          <h3>
            {title} <span class="unit">{text}</span>
          </h3>
          <Bars histogram={histogramOf(readings.now, name, () => true)} />
        </section>
      ))}
    </>
  );
}

function Bars({ histogram }: { histogram: Histogram }) {
  if (histogram.count === 0) return <Empty>None so far.</Empty>;
  const most = Math.max(...histogram.buckets.map((bucket) => bucket.count));
  const used = histogram.buckets.filter((bucket) => bucket.count > 0);
  const first = histogram.buckets.indexOf(used[0]!);
  const last = histogram.buckets.indexOf(used.at(-1)!);
  const bound = (value: number | null): string => (value === null || value === Infinity ? "–" : `≤ ${duration(value)}`);
  return (
    <>
      <p>
        {number(histogram.count)} so far, mean {duration(histogram.sum / histogram.count)}, p50 {bound(quantileBound(histogram, 0.5))}, p99{" "}
        {bound(quantileBound(histogram, 0.99))}
      </p>
      <ol class="buckets">
        {histogram.buckets.slice(first, last + 1).map(({ bound: upTo, count }) => (
          <li key={upTo}>
            <span class="bound">{upTo === Infinity ? "more" : `≤ ${duration(upTo)}`}</span>
            <span class="bucket" aria-hidden="true">
              <span style={{ width: `${(count * 100) / most}%` }} />
            </span>
            <span class="number">{count}</span>
          </li>
        ))}
      </ol>
    </>
  );
}
