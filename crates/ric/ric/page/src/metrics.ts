// Reads metrics in Prometheus' text format 0.0.4.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line);
    if (!parts) continue;
    const labels: Record<string, string> = {};
    for (const label of (parts[2] ?? "").matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      labels[label[1] ?? ""] = (label[2] ?? "").replace(/\\n/g, "\n").replace(/\\(.)/g, "$1");
    }
    const value = parts[3] === "+Inf" ? Number.POSITIVE_INFINITY : Number(parts[3]);
    samples.push({ name: parts[1] ?? "", labels, value });
  }
  return samples;
}

export interface Histogram {
  count: number;
  sum: number;
  /** The count up to and including each bound, the last one infinite; not cumulative. */
  buckets: { bound: number; count: number }[];
}

/** A histogram by its name, over all labels but `le` that `matches` accepts. */
export function histogramOf(samples: Sample[], name: string, matches: (labels: Record<string, string>) => boolean): Histogram {
  const cumulative = new Map<number, number>();
  let [count, sum] = [0, 0];
  for (const sample of samples) {
    if (!matches(sample.labels)) continue;
    if (sample.name === `${name}_count`) count += sample.value;
    else if (sample.name === `${name}_sum`) sum += sample.value;
    else if (sample.name === `${name}_bucket`) {
      const bound = sample.labels["le"] === "+Inf" ? Number.POSITIVE_INFINITY : Number(sample.labels["le"]);
      cumulative.set(bound, (cumulative.get(bound) ?? 0) + sample.value);
    }
  }
  const bounds = [...cumulative.keys()].sort((a, b) => a - b);
  let before = 0;
  const buckets = bounds.map((bound) => {
    const total = cumulative.get(bound) ?? 0;
    const own = total - before;
    before = total;
    return { bound, count: own };
  });
  return { count, sum, buckets };
}

/** The bound of the bucket in which a quantile is; null without observations. */
export function quantileBound(histogram: Histogram, quantile: number): number | null {
  let seen = 0;
  for (const { bound, count } of histogram.buckets) {
    seen += count;
    if (histogram.count > 0 && seen >= quantile * histogram.count) return bound;
  }
  return null;
}
