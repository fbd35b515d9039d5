// Hooks: resources that are read again and again, and a clock for drawings.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Connection, currentConnection, observeConnection, Problem, read, reasonOf } from "./api";

export interface Resource<T> {
  value: T | undefined;
  /** Why the last request failed. */
  problem: Problem | undefined;
  /** Reads it now. */
  reload: () => void;
}

/** Reads a resource now and every `period_ms`, while the page is visible. A failure keeps the last value.
 *
 * What is read every second or less often may be shared with other pages, and then be up to `maxAge_s` old: 0 for counters from which rates
 * are computed. */
export function useResource<T>(path: string | null, period_ms: number, maxAge_s = 1): Resource<T> {
  const [state, setState] = useState<{ path: string | null; value?: T; problem?: Problem }>({ path });
  const load = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (path === null) return;
    let isGone = false;
    let timer = 0;
    const run = async (age_s: number): Promise<void> => {
      window.clearTimeout(timer);
      if (!document.hidden) {
        try {
          const value = await read<T>(path, age_s);
          if (isGone) return;
          setState({ path, value });
        } catch (thrown) {
          if (isGone) return;
          const problem = thrown instanceof Problem ? thrown : new Problem(0, reasonOf(thrown));
          setState((before) => ({ path, value: before.path === path ? before.value : undefined, problem }));
        }
      }
      window.clearTimeout(timer);
      timer = window.setTimeout(() => void run(period_ms < 1000 ? 0 : maxAge_s), period_ms);
    };
    load.current = () => void run(0);
    void run(0);
    return () => {
      isGone = true;
      window.clearTimeout(timer);
    };
  }, [path, period_ms, maxAge_s]);
  const reload = useCallback(() => load.current(), []);
  const isCurrent = state.path === path;
  return { value: isCurrent ? state.value : undefined, problem: isCurrent ? state.problem : undefined, reload };
}

/** The increase per second of counters since the reading before, by key; null where there was none. `entries` is a new list for each
 * reading. */
export function useRates<T>(entries: T[] | undefined, keyOf: (entry: T) => number, countersOf: (entry: T) => number[]) {
  const last = useRef<{ entries: T[]; at: number; counters: Map<number, number[]>; rates: Map<number, number[]> } | null>(null);
  if (entries && entries !== last.current?.entries) {
    const at = performance.now();
    const before = last.current;
    const counters = new Map(entries.map((entry): [number, number[]] => [keyOf(entry), countersOf(entry)]));
    const rates = new Map<number, number[]>();
    for (const [key, now] of counters) {
      const then = before?.counters.get(key);
      // a counter that fell belongs to something new of the same key
      if (!before || !then || now.some((value, place) => value < (then[place] ?? 0))) continue;
      rates.set(key, now.map((value, place) => ((value - (then[place] ?? 0)) * 1000) / (at - before.at)));
    }
    last.current = { entries, at, counters, rates };
  }
  return (key: number, place: number): number | null => last.current?.rates.get(key)?.[place] ?? null;
}

/** Draws the component every `period_ms`, while the page is visible. */
export function useClock(period_ms: number): void {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => document.hidden || tick((count) => count + 1), period_ms);
    return () => window.clearInterval(timer);
  }, [period_ms]);
}

export function useConnection(): Connection {
  const [connection, set] = useState(currentConnection());
  useEffect(() => observeConnection(() => set(currentConnection())), []);
  return connection;
}

/** The part of the address after `#`: which view is shown. */
export function useFragment(): string {
  const [fragment, set] = useState(location.hash.slice(1));
  useEffect(() => {
    const changed = (): void => set(location.hash.slice(1));
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return fragment;
}
