// The live measurements: one stream of the rows of all UEs, and one of each node or cell that is shown.

import { openStream } from "kit/api";
import { Series } from "./series";

/** A measurement of E2SM-KPM that the page can show. */
export interface Measurement {
  name: string;
  unit: string;
  text: string;
  /** How values of several UEs make one. */
  combined: "sum" | "mean";
}

export const UE_MEASUREMENTS: Measurement[] = [
  { name: "DRB.UEThpDl", unit: "kbit/s", text: "Downlink throughput", combined: "sum" },
  { name: "DRB.UEThpUl", unit: "kbit/s", text: "Uplink throughput", combined: "sum" },
  { name: "RRU.PrbTotDl", unit: "%", text: "Downlink resource blocks", combined: "sum" },
  { name: "RRU.PrbTotUl", unit: "%", text: "Uplink resource blocks", combined: "sum" },
];

export const CELL_MEASUREMENTS: Measurement[] = [
  { name: "DRB.UEThpDl", unit: "kbit/s", text: "Downlink throughput of a UE", combined: "mean" },
  { name: "RRU.PrbTotDl", unit: "%", text: "Downlink resource blocks", combined: "mean" },
  { name: "RRU.PrbTotUl", unit: "%", text: "Uplink resource blocks", combined: "mean" },
];

/** The rows of a stream. */
export class Feed {
  /** By node and UE, or by node or cell. */
  readonly series = new Map<string, { node: string; ue: string; series: Series }>();
  /** Values and rows since the stream was opened. */
  samples = 0;
  rows = 0;
  /** Rows that this page was too slow for. */
  lost = 0;
  /** The last period of any row. */
  last = 0;
  /** Why there is no stream; empty if there is one. */
  refused = "";
  /** Nodes that do not report what was asked for, with the reason. */
  readonly refusing = new Map<string, string>();
  private readonly close: () => void;

  constructor(
    readonly measurements: Measurement[],
    readonly period_ms: number,
    cell?: string,
  ) {
    const names = measurements.map((measurement) => measurement.name).join(",");
    const of = cell === undefined ? "" : `&cell=${encodeURIComponent(cell)}`;
    const path = `/v1/kpm/stream?measurements=${names}&period_ms=${period_ms}${of}`;
    this.close = openStream(
      path,
      ({ event, data }) => {
        if (event === "kpm") this.add(data as unknown as Row);
        else if (event === "lost") this.lost += Number(data["events"]);
        else if (event === "node_refused") this.refusing.set(String(data["node"]), String(data["reason"]));
      },
      (why) => {
        this.refused = why;
      },
    );
  }

  stop(): void {
    this.close();
  }

  private add(row: Row): void {
    const key = row.ue === undefined ? (row.cell ?? row.node) : `${row.node} ${row.ue}`;
    let of = this.series.get(key);
    if (!of) {
      of = { node: row.node, ue: row.ue ?? "", series: new Series(this.measurements.length) };
      this.series.set(key, of);
    }
    const period = Math.floor(row.time_ms / this.period_ms);
    this.rows += 1;
    let place = 0;
    for (const measurement of this.measurements) {
      const value = row.measurements[measurement.name];
      if (value !== undefined) {
        of.series.set(period, place, value);
        this.samples += 1;
      }
      place += 1;
    }
    if (period > this.last) {
      this.last = period;
      if (period % 100 === 0) this.forget(period);
    }
  }

  /** Forgets subjects that have not been reported for 300 periods. */
  private forget(now: number): void {
    for (const [key, of] of this.series) if (of.series.last < now - 300) this.series.delete(key);
  }
}

interface Row {
  node: string;
  ue?: string;
  cell?: string;
  time_ms: number;
  measurements: Record<string, number | null>;
}
