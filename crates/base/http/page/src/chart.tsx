// Lines over time, by uPlot.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colorOf, quantity, timeOfDay } from "./format";

export interface Line {
  label: string;
  values: (number | null)[];
}

/** Draws lines over times in seconds of Unix time. The lines' legend is a table for readers that see no drawing. */
export function Chart({ title, unit, times, lines }: { title: string; unit: string; times: number[]; lines: Line[] }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const labels = lines.map((line) => line.label).join("\n");

  useEffect(() => {
    const host = place.current;
    if (!host) return;
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    const create = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(options(host.clientWidth, unit, labels ? labels.split("\n") : []), [[]], host);
    };
    create();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: host.clientWidth, height: HEIGHT }));
    resized.observe(host);
    scheme.addEventListener("change", create);
    return () => {
      scheme.removeEventListener("change", create);
      resized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [labels, unit]);

  useEffect(() => {
    plot.current?.setData([times, ...lines.map((line) => line.values)] as uPlot.AlignedData);
  });

  return (
    <figure class="chart">
      <figcaption>
        {title} <span class="unit">({unit === "kbit/s" ? "bit/s" : unit})</span>
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
      <ul class="legend">
        {lines.map((line, number) => (
          <li key={line.label}>
            <span class={`swatch line-${number % 8}`} aria-hidden="true" />
            {line.label} <b>{quantity(lastOf(line.values), unit)}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}

const HEIGHT = 220;

function lastOf(values: (number | null)[]): number | null {
  for (let place = values.length - 1; place >= 0; place--) {
    const value = values[place];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

function options(width: number, unit: string, labels: string[]): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const text = style.getPropertyValue("--text").trim();
  const grid = { stroke: style.getPropertyValue("--grid").trim(), width: 1 };
  const font = "12px system-ui, sans-serif";
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: true }, y: { range: (_, min, max) => [Math.min(0, min ?? 0), (max ?? 1) * 1.05 || 1] } },
    axes: [
      { stroke: text, grid, ticks: grid, font, space: 90, values: (_, ticks) => ticks.map((tick) => timeOfDay(new Date(tick * 1000)).slice(0, 8)) },
      { stroke: text, grid, ticks: grid, font, size: 64, values: (_, ticks) => ticks.map((tick) => axisLabel(tick, unit)) },
    ],
    series: [
      {},
      ...labels.map((label, number) => ({ label, stroke: colorOf(number), width: 1.5, spanGaps: true, points: { show: false } })),
    ],
  };
}

function axisLabel(value: number, unit: string): string {
  if (unit !== "kbit/s" || value === 0) return String(value);
  return value >= 1000 ? `${value / 1000} M` : `${value} k`;
}
