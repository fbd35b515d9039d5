// Measurements over time, in fixed memory: a value per period and measurement, for the last `CAPACITY` periods.

/** The periods that are kept. */
export const CAPACITY = 300;

/** The values of one subject (a UE, a cell, a queue) over time. */
export class Series {
  /** Which period each place holds; 0: none. */
  private readonly periods = new Float64Array(CAPACITY);
  private readonly values: Float32Array[];
  /** The last period with a value. */
  last = 0;

  constructor(measurements: number) {
    this.values = Array.from({ length: measurements }, () => new Float32Array(CAPACITY));
  }

  /** Stores a value; null: the subject has none. */
  set(period: number, measurement: number, value: number | null): void {
    const place = period % CAPACITY;
    if (this.periods[place] !== period) {
      for (const values of this.values) values[place] = Number.NaN;
      this.periods[place] = period;
      if (period > this.last) this.last = period;
    }
    const values = this.values[measurement];
    if (values) values[place] = value ?? Number.NaN;
  }

  get(period: number, measurement: number): number | null {
    const place = period % CAPACITY;
    const value = this.periods[place] === period ? this.values[measurement]?.[place] : undefined;
    return value === undefined || Number.isNaN(value) ? null : value;
  }

  /** The latest value, null if there is none. */
  latest(measurement: number): number | null {
    return this.get(this.last, measurement);
  }

  /** The mean of the last `periods` periods that have a value. */
  mean(measurement: number, periods: number): number | null {
    let sum = 0;
    let count = 0;
    for (let period = this.last - periods + 1; period <= this.last; period++) {
      const value = this.get(period, measurement);
      if (value !== null) {
        sum += value;
        count += 1;
      }
    }
    return count === 0 ? null : sum / count;
  }
}
