// Measurements of E2SM-KPM as they arrive: per cell, slice and UE.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Chart, type Line } from "kit/chart";
import type { NodeSummary, Ue } from "../documents";
import { number, quantity } from "kit/format";
import { useClock, useResource } from "kit/hooks";
import { CELL_MEASUREMENTS, Feed, type Measurement, UE_MEASUREMENTS } from "../kpm";
import { CAPACITY, type Series } from "../series";
import { Choice, Empty, Figure, Table } from "kit/parts";

type Scope = "ue" | "slice" | "cell";

/** The most lines of a chart, and rows of a table. */
const MAX_LINES = 8;
const MAX_ROWS = 100;
/** The most nodes whose cells are subscribed to. */
const MAX_NODES = 8;
const DRAWING_MS = 500;

export function KpiView() {
  const [scope, setScope] = useState<Scope>("ue");
  const [period_ms, setPeriod] = useState(1000);
  const [measurement, setMeasurement] = useState(0);
  const nodes = useResource<{ nodes: NodeSummary[] }>("/v1/nodes", 2000).value?.nodes ?? [];
  const all = scope === "cell" ? CELL_MEASUREMENTS : UE_MEASUREMENTS;
  const shown = all[measurement] ?? all[0]!;
  const place = all.indexOf(shown);
  const choices = all.map((of, index): [number, string] => [index, of.text]);
  return (
    <>
      <div class="choices">
        <Choice
          label="Per"
          value={scope}
          options={[
            ["ue", "UE"],
            ["slice", "slice"],
            ["cell", "node"],
          ]}
          onChange={setScope}
        />
        <Choice label="Measurement" value={place} options={choices} onChange={setMeasurement} />
        <Choice
          label="Period"
          value={period_ms}
          options={[
            [100, "100 ms"],
            [1000, "1 s"],
            [10000, "10 s"],
          ]}
          onChange={setPeriod}
        />
      </div>
      {scope === "cell" ? (
        <Cells nodes={nodes} period_ms={period_ms} shown={shown} place={place} />
      ) : (
        <Ues scope={scope} period_ms={period_ms} shown={shown} place={place} />
      )}
    </>
  );
}

/** The feed of all UEs, open while the component is shown. */
export function useUeFeed(period_ms: number): Feed | undefined {
  const [feed, setFeed] = useState<Feed>();
  useEffect(() => {
    const opened = new Feed(UE_MEASUREMENTS, period_ms);
    setFeed(opened);
    return () => opened.stop();
  }, [period_ms]);
  return feed?.period_ms === period_ms ? feed : undefined;
}

/** Finds UEs by node and any of their names. */
export function useUeNames(): Map<string, Ue> {
  const ues = useResource<{ ues: Ue[] }>("/v1/ues", 2000).value?.ues;
  return useMemo(() => {
    const names = new Map<string, Ue>();
    for (const ue of ues ?? []) for (const name of ue.references) names.set(name, ue);
    return names;
  }, [ues]);
}

interface Subject {
  label: string;
  detail: string;
  series: Series[];
}

function Ues({ scope, period_ms, shown, place }: { scope: Scope; period_ms: number; shown: Measurement; place: number }) {
  useClock(DRAWING_MS);
  const feed = useUeFeed(period_ms);
  const names = useUeNames();
  const [wanted, setWanted] = useState("");
  if (!feed) return null;
  const filter = wanted.trim().toLowerCase();
  const subjects = new Map<string, Subject>();
  for (const [key, { node, ue, series }] of feed.series) {
    const known = names.get(ue);
    const of = scope === "ue" ? key : sliceOf(node, known);
    const detail = scope === "ue" ? detailOf(node, known) : "";
    const label = scope === "ue" ? (known?.ip?.[0] ?? ue) : of;
    if (filter && !`${label} ${ue} ${detail}`.toLowerCase().includes(filter)) continue;
    const subject = subjects.get(of) ?? { label, detail, series: [] };
    subject.series.push(series);
    subjects.set(of, subject);
  }
  const head = feed.measurements.map((of) => of.text);
  return (
    <>
      <FeedState feeds={[feed]} />
      <label class="choice">
        Filter
        <input type="search" value={wanted} placeholder="address, name or node" onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      <Subjects
        title={shown.text}
        what={scope === "ue" ? "UE" : "Slice"}
        feed={feed}
        shown={shown}
        place={place}
        head={head}
        subjects={[...subjects.values()]}
      />
    </>
  );
}

function sliceOf(node: string, ue: Ue | undefined): string {
  const slice = ue?.slices?.dl;
  return slice === null || slice === undefined ? `${node}: no slice` : `${node}: slice ${slice}`;
}

function detailOf(node: string, ue: Ue | undefined): string {
  const rnti = ue?.rnti === undefined ? "" : ` RNTI 0x${ue.rnti.toString(16)}`;
  return `${node}${rnti}`;
}

/** Measurements of whole nodes. */
function Cells({ nodes, period_ms, shown, place }: { nodes: NodeSummary[]; period_ms: number; shown: Measurement; place: number }) {
  useClock(DRAWING_MS);
  const [feeds, setFeeds] = useState<Feed[]>([]);
  const ids = nodes.map((node) => node.id).slice(0, MAX_NODES).join(",");
  useEffect(() => {
    const opened = ids ? ids.split(",").map((id) => new Feed(CELL_MEASUREMENTS, period_ms, id)) : [];
    setFeeds(opened);
    return () => opened.forEach((feed) => feed.stop());
  }, [ids, period_ms]);
  const first = feeds[0];
  if (!first) return <Empty>No E2 node is connected.</Empty>;
  const subjects = feeds.flatMap((feed) => [...feed.series].map(([label, of]) => ({ label, detail: "", series: [of.series] })));
  const last = Math.max(...feeds.map((feed) => feed.last));
  return (
    <>
      <FeedState feeds={feeds} />
      {nodes.length > MAX_NODES ? <p>The first {MAX_NODES} of {nodes.length} nodes are shown.</p> : null}
      <Subjects
        title={shown.text}
        what="Node"
        feed={{ measurements: CELL_MEASUREMENTS, period_ms: first.period_ms, last }}
        shown={shown}
        place={place}
        head={CELL_MEASUREMENTS.map((of) => of.text)}
        subjects={subjects}
      />
    </>
  );
}

/** How many samples arrive, and what does not. */
function FeedState({ feeds }: { feeds: Feed[] }) {
  const [rate, setRate] = useState(0);
  const samples = feeds.reduce((sum, feed) => sum + feed.samples, 0);
  const lost = feeds.reduce((sum, feed) => sum + feed.lost, 0);
  useEffect(() => {
    let before = feeds.reduce((sum, feed) => sum + feed.samples, 0);
    let at = performance.now();
    const timer = window.setInterval(() => {
      const [now, total] = [performance.now(), feeds.reduce((sum, feed) => sum + feed.samples, 0)];
      setRate(((total - before) * 1000) / (now - at));
      [before, at] = [total, now];
    }, 2000);
    return () => window.clearInterval(timer);
  }, [feeds.length, feeds[0]]);
  const refused = feeds.map((feed) => feed.refused).find((why) => why !== "");
  const refusing = feeds.flatMap((feed) => [...feed.refusing]);
  return (
    <>
      {refused ? (
        <p class="problem" role="alert">
          {refused}
        </p>
      ) : null}
      {refusing.map(([node, why]) => (
        <p class="problem" key={node}>
          {node}: {why}
        </p>
      ))}
      <dl class="figures">
        <Figure name="Samples">
          <span data-test="samples">{samples}</span>
        </Figure>
        <Figure name="Samples per second">{number(Math.round(rate))}</Figure>
        <Figure name="Rows lost">{lost}</Figure>
      </dl>
    </>
  );
}

function Subjects({
  title,
  what,
  feed,
  shown,
  place,
  head,
  subjects,
}: {
  title: string;
  what: string;
  feed: { measurements: Measurement[]; period_ms: number; last: number };
  shown: Measurement;
  place: number;
  head: string[];
  subjects: Subject[];
}) {
  // about two seconds, so that the order does not flicker
  const recent = Math.max(1, Math.ceil(2000 / feed.period_ms));
  const valueOf = (subject: Subject, index: number): number | null => {
    const of = feed.measurements[index];
    return of ? combine(of, subject.series.map((series) => series.mean(index, recent))) : null;
  };
  const ranked = subjects
    .map((subject) => ({ subject, value: valueOf(subject, place) ?? -1 }))
    .sort((a, b) => b.value - a.value || a.subject.label.localeCompare(b.subject.label))
    .map(({ subject }) => subject);
  if (ranked.length === 0) return <Empty>No rows have arrived.</Empty>;
  const charted = ranked.slice(0, MAX_LINES).sort((a, b) => a.label.localeCompare(b.label));
  const { times, lines } = linesOf(charted, feed, shown, place);
  return (
    <>
      <Chart title={title} unit={shown.unit} times={times} lines={lines} />
      {ranked.length > MAX_LINES ? <p class="unit">The chart has the first {MAX_LINES} of {ranked.length}.</p> : null}
      <Table label="Measurements" head={[what, ...head]}>
        {ranked.slice(0, MAX_ROWS).map((subject) => (
          <tr key={`${subject.label} ${subject.detail}`}>
            <th scope="row">
              {subject.label} <span class="unit">{subject.detail}</span>
            </th>
            {feed.measurements.map((of, index) => (
              <td class="number" key={of.name}>
                {quantity(valueOf(subject, index), of.unit)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {ranked.length > MAX_ROWS ? <p class="unit">{ranked.length - MAX_ROWS} more: use the filter.</p> : null}
    </>
  );
}

function combine(of: Measurement, values: (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  const sum = known.reduce((total, value) => total + value, 0);
  return of.combined === "sum" ? sum : sum / known.length;
}

function linesOf(
  subjects: Subject[],
  feed: { period_ms: number; last: number },
  shown: Measurement,
  place: number,
): { times: number[]; lines: Line[] } {
  // the last period may be incomplete
  const end = feed.last - 1;
  const begin = end - Math.min(CAPACITY - 2, Math.max(60, Math.ceil(60_000 / feed.period_ms)));
  const times: number[] = [];
  for (let period = begin; period <= end; period++) times.push((period * feed.period_ms) / 1000);
  const lines = subjects.map((subject) => {
    const values: (number | null)[] = [];
    for (let period = begin; period <= end; period++) {
      values.push(combine(shown, subject.series.map((series) => series.get(period, place))));
    }
    return { label: subject.label, values };
  });
  return { times, lines };
}
