// Traffic control of a node: its queues, and how long packets wait in them.

import { useEffect, useRef, useState } from "preact/hooks";
import { Chart } from "kit/chart";
import type { NodeDetails, NodeSummary, TrafficControl } from "../documents";
import { duration, number } from "kit/format";
import { useResource } from "kit/hooks";
import { Series } from "../series";
import { Empty, Figure, Refusal, Table } from "kit/parts";
import { NodeChoice } from "./node_choice";

const PERIOD_MS = 1000;
/** The seconds that the chart shows. */
const SHOWN_PERIODS = 120;
const MAX_LINES = 8;

export function TrafficView() {
  const nodes = useResource<{ nodes: NodeSummary[] }>("/v1/nodes", 2000);
  const [chosen, setChosen] = useState("");
  const all = nodes.value?.nodes ?? [];
  const node = all.find((of) => of.id === chosen) ?? all[0];
  return (
    <>
      <Refusal problem={nodes.problem} />
      {node ? (
        <>
          <div class="choices">
            <NodeChoice nodes={all} value={node.id} onChange={setChosen} />
          </div>
          <TrafficOfNode key={node.id} node={node.id} />
        </>
      ) : nodes.value ? (
        <Empty>No E2 node is connected.</Empty>
      ) : null}
    </>
  );
}

function TrafficOfNode({ node }: { node: string }) {
  const path = `/v1/nodes/${encodeURIComponent(node)}`;
  const details = useResource<NodeDetails>(path, 5000);
  const offers = details.value?.sources.some((source) => source.model === "tc");
  const tc = useResource<TrafficControl>(offers ? `${path}/tc` : null, PERIOD_MS);
  const kept = useRef(new Map<number, Series>());
  const last = useRef(0);
  const report = tc.value;
  useEffect(() => {
    if (!report) return;
    const period = Math.floor(report.timestamp_us / 1000 / PERIOD_MS);
    last.current = Math.max(last.current, period);
    for (const queue of report.queues) {
      const series = kept.current.get(queue.id) ?? new Series(1);
      kept.current.set(queue.id, series);
      series.set(period, 0, queue.mean_sojourn_us === null ? null : queue.mean_sojourn_us / 1000);
    }
  }, [report]);
  if (offers === false) return <Empty>{node} offers no traffic control.</Empty>;
  if (!report) return <Refusal problem={details.problem ?? tc.problem} />;
  const longest = Math.max(1000, ...report.queues.map((queue) => queue.mean_sojourn_us ?? 0));
  const periods = Array.from({ length: SHOWN_PERIODS }, (_, place) => last.current - SHOWN_PERIODS + 1 + place);
  const lines = report.queues.slice(0, MAX_LINES).map((queue) => ({
    label: `queue ${queue.id}`,
    values: periods.map((period) => kept.current.get(queue.id)?.get(period, 0) ?? null),
  }));
  return (
    <>
      <Refusal problem={tc.problem} />
      <dl class="figures">
        <Figure name="Scheduler">{report.scheduler.kind ?? "–"}</Figure>
        <Figure name="Classifier">{report.classifier.kind}</Figure>
        <Figure name="Pacer">{report.pacer.kind}</Figure>
        <Figure name="Filters">{report.filters.length}</Figure>
      </dl>
      <Chart title="Mean sojourn time" unit="ms" times={periods.map((period) => (period * PERIOD_MS) / 1000)} lines={lines} />
      <Table label="Queues" head={["Queue", "Kind", "Mean sojourn time", "Last", "Waiting", "Forwarded", "Dropped"]}>
        {report.queues.map((queue) => (
          <tr key={queue.id}>
            <th scope="row">{queue.id}</th>
            <td>{queue.kind}</td>
            <td>
              <meter min={0} max={longest} value={queue.mean_sojourn_us ?? 0} aria-label={`Mean sojourn time of queue ${queue.id}`} />{" "}
              {queue.mean_sojourn_us === null ? "–" : duration(queue.mean_sojourn_us / 1e6)}
            </td>
            <td class="number">{duration(queue.last_sojourn_us / 1e6)}</td>
            <td class="number">
              {queue.packets} packets, {number(queue.octets / 1000)} kB
            </td>
            <td class="number">{queue.forwarded_packets}</td>
            <td class="number">{queue.dropped_packets}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}
