// What has happened: the events of the RIC since the page was opened, at most the last 1000.

import { openStream } from "kit/api";

export interface RecordedEvent {
  number: number;
  at: Date;
  topic: Topic;
  kind: string;
  data: Record<string, unknown>;
}

export type Topic = "nodes" | "ues" | "controls" | "log" | "page";

export const TOPICS: Topic[] = ["nodes", "ues", "controls", "log", "page"];

/** The most events that are kept. */
const MAX_EVENTS = 1000;

/** The events, the oldest first. */
export const events: RecordedEvent[] = [];
let count = 0;
const observers = new Set<(event: RecordedEvent) => void>();

/** Calls `observer` for each event. Returns how to stop. */
export function observeEvents(observer: (event: RecordedEvent) => void): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

function topicOf(kind: string): Topic {
  if (kind.startsWith("node_") || kind.startsWith("base_station_") || kind.startsWith("cell_")) return "nodes";
  if (kind.startsWith("ue")) return "ues";
  if (kind === "control" || kind === "log") return kind === "log" ? "log" : "controls";
  return "page";
}

function record(kind: string, data: Record<string, unknown>): void {
  count += 1;
  const event = { number: count, at: new Date(), topic: topicOf(kind), kind, data };
  events.push(event);
  if (events.length > MAX_EVENTS) events.shift();
  for (const observer of observers) observer(event);
}

/** Records events until the returned function is called. */
export function recordEvents(): () => void {
  return openStream(
    "/v1/events?topics=nodes,ues,controls,log",
    ({ event, data }) => record(event, data),
    (why) => (why ? undefined : record("stream_open", {})),
  );
}
