// Numbers and times as text.

/** A number with as many digits as fit in a narrow column; a dash if there is none. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  return value.toFixed(size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2);
}

/** A rate in kbit/s, in Mbit/s from 1000 on. */
export function rate(kbps: number | null): string {
  if (kbps === null) return "–";
  return kbps >= 1000 ? `${number(kbps / 1000)} Mbit/s` : `${number(kbps)} kbit/s`;
}

/** A value with its unit. */
export function quantity(value: number | null, unit: string): string {
  if (unit === "kbit/s") return rate(value);
  return value === null ? "–" : `${number(value)} ${unit}`;
}

/** Octets. */
export function octets(value: number | null): string {
  if (value === null) return "–";
  if (value < 1000) return `${number(value)} B`;
  return value < 1e6 ? `${number(value / 1e3)} kB` : `${number(value / 1e6)} MB`;
}

/** A duration in seconds. */
export function duration(seconds: number): string {
  if (seconds < 1e-3) return `${number(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3)} ms`;
  return `${number(seconds)} s`;
}

/** The time of day with milliseconds. */
export function timeOfDay(at: Date): string {
  const digits = (value: number, count: number): string => String(value).padStart(count, "0");
  return `${digits(at.getHours(), 2)}:${digits(at.getMinutes(), 2)}:${digits(at.getSeconds(), 2)}.${digits(at.getMilliseconds(), 3)}`;
}

/** The color of the n-th line, of those that the style sheet declares. */
export function colorOf(place: number): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--line-${place % 8}`).trim();
}
