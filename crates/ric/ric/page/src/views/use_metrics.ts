// The metrics of the RIC, with those of the reading before.

import { useEffect, useState } from "preact/hooks";
import { requestText } from "kit/api";
import { parseMetrics, type Sample } from "../metrics";

export interface Readings {
  now: Sample[];
  at: number;
  before: Sample[];
  before_at: number;
}

/** Reads `/metrics` every `period_ms`; undefined until it has been read twice. */
export function useMetrics(period_ms: number): Readings | undefined {
  const [readings, set] = useState<Readings>();
  useEffect(() => {
    let isGone = false;
    let last: { samples: Sample[]; at: number } | undefined;
    const read = async (): Promise<void> => {
      if (document.hidden) return;
      try {
        const text = await requestText("/metrics");
        const [samples, at] = [parseMetrics(text), performance.now()];
        if (isGone) return;
        const before = last ?? { samples, at };
        set({ now: samples, at, before: before.samples, before_at: before.at });
        last = { samples, at };
      } catch {
        // the state of the connection shows it
        last = undefined;
      }
    };
    void read();
    const timer = window.setInterval(() => void read(), period_ms);
    return () => {
      isGone = true;
      window.clearInterval(timer);
    };
  }, [period_ms]);
  return readings;
}

/** The sum of a metric over its labels. */
export function valueOf(samples: Sample[], name: string): number {
  return samples.filter((sample) => sample.name === name).reduce((sum, sample) => sum + sample.value, 0);
}

/** The increase of a counter per second; null while it has been read once. */
export function rateOf({ now, at, before, before_at }: Readings, name: string): number | null {
  return at === before_at ? null : Math.max(0, ((valueOf(now, name) - valueOf(before, name)) * 1000) / (at - before_at));
}
