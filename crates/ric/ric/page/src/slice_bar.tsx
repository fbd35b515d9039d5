// A bar of shares whose borders are dragged or moved by keys.

import { useRef } from "preact/hooks";
import { number } from "kit/format";

/** The smallest share that dragging leaves, and the step of the arrow keys, in per cent. */
const LEAST = 1;
const STEP = 1;
const LONG_STEP = 10;

interface Props {
  labels: string[];
  /** In per cent; what is missing to 100 is not reserved. */
  shares: number[];
  onMove: (shares: number[]) => void;
  onRelease: (shares: number[]) => void;
  onStep: (shares: number[]) => void;
}

/** The border after slice `place` is moved to `position` per cent: the two slices beside it change, or what is not reserved. */
export function moveBorder(shares: number[], place: number, position: number): number[] {
  const before = shares.slice(0, place).reduce((sum, share) => sum + share, 0);
  const isLast = place === shares.length - 1;
  const end = isLast ? 100 : before + (shares[place] ?? 0) + (shares[place + 1] ?? 0);
  const at = Math.min(Math.max(Math.round(position), Math.ceil(before + LEAST)), isLast ? 100 : Math.floor(end - LEAST));
  const moved = [...shares];
  moved[place] = at - before;
  if (!isLast) moved[place + 1] = end - at;
  return moved.map((share) => Math.round(share * 100) / 100);
}

export function SliceBar({ labels, shares, onMove, onRelease, onStep }: Props) {
  const bar = useRef<HTMLDivElement>(null);
  const moved = useRef<number[] | null>(null);
  const ends = shares.map((_, place) => shares.slice(0, place + 1).reduce((sum, share) => sum + share, 0));
  const free = Math.max(0, 100 - (ends.at(-1) ?? 0));

  const drag = (place: number, event: PointerEvent): void => {
    const box = bar.current?.getBoundingClientRect();
    if (!box || moved.current === null) return;
    moved.current = moveBorder(shares, place, ((event.clientX - box.left) * 100) / box.width);
    onMove(moved.current);
  };
  const press = (place: number, event: KeyboardEvent): void => {
    const at = ends[place] ?? 0;
    const steps: Record<string, number> = {
      ArrowRight: at + STEP,
      ArrowUp: at + STEP,
      ArrowLeft: at - STEP,
      ArrowDown: at - STEP,
      PageUp: at + LONG_STEP,
      PageDown: at - LONG_STEP,
      Home: 0,
      End: 100,
    };
    const position = steps[event.key];
    if (position === undefined) return;
    event.preventDefault();
    onStep(moveBorder(shares, place, position));
  };

  return (
    <div class="bar" ref={bar}>
      {shares.map((share, place) => (
        <div key={labels[place]} class={`segment fill-${place % 8}`} style={{ width: `${share}%` }}>
          <span>
            {labels[place]} <b>{number(share)} %</b>
          </span>
        </div>
      ))}
      {free > 0 ? (
        <div class="segment free" style={{ width: `${free}%` }}>
          <span>not reserved</span>
        </div>
      ) : null}
      {ends.map((end, place) => (
        <div
          key={labels[place]}
          class="handle"
          role="slider"
          tabIndex={0}
          aria-label={`End of ${labels[place]}`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(end)}
          aria-valuetext={`${labels[place]}: ${number(shares[place] ?? 0)} %`}
          style={{ left: `${end}%` }}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            moved.current = [...shares];
          }}
          onPointerMove={(event) => drag(place, event)}
          onPointerUp={() => {
            if (moved.current) onRelease(moved.current);
            moved.current = null;
          }}
          onPointerCancel={() => {
            moved.current = null;
          }}
          onKeyDown={(event) => press(place, event)}
        />
      ))}
    </div>
  );
}
