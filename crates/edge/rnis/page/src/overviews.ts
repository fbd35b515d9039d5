// The overviews of the service since the page was opened, at most those of the last five minutes.

import { openStream } from "kit/api";
import { useEffect, useState } from "preact/hooks";
import type { Overview } from "./documents";

/** The most overviews that are kept: one comes every second. */
const MAX_OVERVIEWS = 300;

/** What is known of the service. */
export interface Record {
  /** The oldest first. */
  overviews: Overview[];
  /** The events that this page has not received, since it was too slow. */
  lost: number;
  /** Why the stream is refused. */
  refusal: string;
}

let record: Record = { overviews: [], lost: 0, refusal: "" };
const observers = new Set<() => void>();

function set(changes: Partial<Record>): void {
  record = { ...record, ...changes };
  for (const observer of observers) observer();
}

/** Records overviews until the returned function is called. */
export function recordOverviews(): () => void {
  return openStream(
    "/rnis/v1/stream?topics=overview",
    ({ event, data }) => {
      if (event === "lost") set({ lost: record.lost + Number(data["events"]) });
      else set({ overviews: [...record.overviews.slice(1 - MAX_OVERVIEWS), data as unknown as Overview] });
    },
    (refusal) => refusal === record.refusal || set({ refusal }),
  );
}

/** The record, as it is now. */
export function useRecord(): Record {
  const [now, setNow] = useState(record);
  useEffect(() => {
    setNow(record);
    const observer = (): void => setNow(record);
    observers.add(observer);
    return () => void observers.delete(observer);
  }, []);
  return now;
}

/** The increase per second of a counter between two overviews; null if there is none, or the service was started in between. */
export function rateBetween(before: Overview | undefined, now: Overview | undefined, of: (overview: Overview) => number): number | null {
  if (!before || !now || now.timeMs <= before.timeMs) return null;
  const increase = of(now) - of(before);
  return increase < 0 ? null : (increase * 1000) / (now.timeMs - before.timeMs);
}

/** A topic of the stream while the component is shown: its last event, and why it is refused. */
export function useTopic<T>(topic: string): { value: T | undefined; refusal: string } {
  const [value, setValue] = useState<T>();
  const [refusal, setRefusal] = useState("");
  useEffect(
    () =>
      openStream(
        `/rnis/v1/stream?topics=${topic}`,
        ({ event, data }) => (event === topic ? setValue(data as unknown as T) : undefined),
        setRefusal,
      ),
    [topic],
  );
  return { value, refusal };
}
