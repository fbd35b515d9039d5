// The cells and their UEs: at their positions, if a client has stated them, else around their serving cells.

import { useEffect, useState } from "preact/hooks";
import { type RecordedEvent, events, observeEvents } from "../events";
import type { BaseStation, Ue } from "../documents";
import { timeOfDay } from "kit/format";
import { useResource } from "kit/hooks";
import { Empty, Figure, Refusal } from "kit/parts";
import { cellKey, cellsOf } from "./topology";

/** The distance of cells without positions, and of the UEs around them, in units of the drawing. */
const CELL_DISTANCE = 100;
const UE_DISTANCE = 4.2;
/** 2 pi / golden ratio squared: neighbours on a spiral do not overlap. */
const GOLDEN_ANGLE = 2.399963;
/** How long a UE is marked after a handover. */
const MARKED_MS = 3000;

/** Positions that are older are not shown: who stated them is gone. */
const MAX_AGE_MS = 10_000;

interface Positions {
  age_ms: number | null;
  cells: { cell: string; x_m: number; y_m: number }[];
  ues: { ue: string; x_m: number; y_m: number }[];
}

interface Place {
  x: number;
  y: number;
}

export function MapView() {
  const stations = useResource<{ base_stations: BaseStation[] }>("/v1/base-stations", 5000);
  const ues = useResource<{ ues: Ue[] }>("/v1/ues", 1000);
  const positions = useResource<Positions>("/v1/positions", 1000);
  const handovers = useHandovers();
  const all = ues.value?.ues ?? [];
  const cells = cellsOf(stations.value?.base_stations ?? [], all);
  const given = positions.value;
  const isKnown = given !== undefined && given.cells.length > 0 && (given.age_ms ?? Infinity) < MAX_AGE_MS;
  const places = isKnown ? placesOf(given, cells, all) : placesByCell(cells, all);
  const marked = new Set(handovers.filter((event) => Date.now() - event.at.getTime() < MARKED_MS).map((event) => String(event.data["ue"])));
  const box = boxOf([...places.cells.values(), ...places.ues.values()]);
  const numbers = new Map(cells.map(({ cell }, number) => [cell, number]));
  const colorOfCell = (cell: string): number => (numbers.get(cell) ?? 0) % 8;
  const unit = Math.max(box.width, box.height) / 100;
  return (
    <>
      <Refusal problem={ues.problem ?? stations.problem} />
      <p>
        {isKnown
          ? `At their positions, in metres; the drawing is ${Math.round(box.width)} m wide.`
          : "Positions are unknown: E2 reports none, and no client states them. Each UE is drawn around its serving cell."}
      </p>
      <dl class="figures">
        <Figure name="Cells">{cells.length}</Figure>
        <Figure name="UEs">{all.length}</Figure>
        <Figure name="Handovers since the page was opened">{handovers.length}</Figure>
      </dl>
      {cells.length === 0 ? <Empty>No cell is known.</Empty> : null}
      <svg
        class="map"
        viewBox={`${box.x} ${box.y} ${box.width} ${box.height}`}
        role="img"
        aria-label={`${cells.length} cells with ${all.length} UEs; the list below has the UEs of each cell`}
      >
        {sitesOf(places.cells).map(({ at, cells: own }) => (
          <g key={own[0]} transform={`translate(${at.x} ${at.y})`}>
            <circle class={`cell line-${colorOfCell(own[0] ?? "")}`} r={isKnown ? unit * 2 : CELL_DISTANCE * 0.42} />
            <path class="mast" d="M-1.2 1 L0 -1.2 L1.2 1 Z" transform={`scale(${unit * 0.7})`} />
            {places.cells.size <= 60 ? (
              <text y={isKnown ? unit * 4 : CELL_DISTANCE * 0.42 + unit * 2} font-size={unit * 1.5} text-anchor="middle">
                {own[0]}
                {own.length > 1 ? ` and ${own.length - 1} more` : ""}
              </text>
            ) : null}
          </g>
        ))}
        {all.map((ue) => {
          const at = places.ues.get(ue.id);
          const isMarked = ue.references.some((name) => marked.has(name));
          return at ? (
            <circle
              key={ue.id}
              class={`ue ${ue.cell ? `line-${colorOfCell(cellKey(ue.cell))}` : ""} ${isMarked ? "marked" : ""}`}
              r={unit * (isMarked ? 1.4 : 0.7)}
              style={{ transform: `translate(${at.x}px, ${at.y}px)` }}
            />
          ) : null;
        })}
      </svg>
      <div class="columns">
        <div>
          <h3>UEs of each cell</h3>
          <ul class="plain">
            {cells.map(({ cell }) => (
              <li key={cell}>
                {cell}: {all.filter((ue) => ue.cell && cellKey(ue.cell) === cell).length}
              </li>
            ))}
          </ul>
        </div>
        <div>
          <h3>Last handovers</h3>
          {handovers.length === 0 ? <Empty>None since the page was opened.</Empty> : null}
          <ul class="plain">
            {handovers
              .slice(-10)
              .reverse()
              .map((event) => (
                <li key={event.number}>
                  <time>{timeOfDay(event.at)}</time> {String(event.data["ue"])} at {String(event.data["node"])}
                </li>
              ))}
          </ul>
        </div>
      </div>
    </>
  );
}

function isHandover(event: RecordedEvent): boolean {
  return event.kind === "ue_handed_over";
}

function useHandovers(): RecordedEvent[] {
  const [all, set] = useState(() => events.filter(isHandover));
  useEffect(() => observeEvents((event) => isHandover(event) && set((before) => [...before.slice(-999), event])), []);
  return all;
}

interface Places {
  cells: Map<string, Place>;
  ues: Map<number, Place>;
}

/** Positions as given; the axis of y points up. */
function placesOf(given: Positions, cells: { cell: string }[], ues: Ue[]): Places {
  const known = new Set(cells.map(({ cell }) => cell));
  const ofCells = new Map<string, Place>();
  for (const { cell, x_m, y_m } of given.cells) if (known.has(cellKey(cell))) ofCells.set(cellKey(cell), { x: x_m, y: -y_m });
  const named = new Map(given.ues.map((of) => [of.ue, of]));
  const ofUes = new Map<number, Place>();
  for (const ue of ues) {
    const at = ue.references.map((name) => named.get(name)).find((of) => of !== undefined);
    if (at) ofUes.set(ue.id, { x: at.x_m, y: -at.y_m });
  }
  return { cells: ofCells, ues: ofUes };
}

/** Cells at the same position are one site. */
function sitesOf(cells: Map<string, Place>): { at: Place; cells: string[] }[] {
  const sites = new Map<string, { at: Place; cells: string[] }>();
  for (const [cell, at] of cells) {
    const key = `${at.x} ${at.y}`;
    const site = sites.get(key) ?? { at, cells: [] };
    site.cells.push(cell);
    sites.set(key, site);
  }
  return [...sites.values()];
}

/** Cells on a grid, and their UEs on a spiral around each. */
function placesByCell(cells: { cell: string }[], ues: Ue[]): Places {
  const columns = Math.ceil(Math.sqrt(cells.length * 1.6));
  const ofCells = new Map<string, Place>();
  cells.forEach(({ cell }, place) =>
    ofCells.set(cell, { x: (place % columns) * CELL_DISTANCE, y: Math.floor(place / columns) * CELL_DISTANCE }),
  );
  const counts = new Map<string, number>();
  const ofUes = new Map<number, Place>();
  for (const ue of ues) {
    const cell = ue.cell ? cellKey(ue.cell) : "";
    const at = ofCells.get(cell);
    if (!at) continue;
    const count = (counts.get(cell) ?? 0) + 1;
    counts.set(cell, count);
    const distance = Math.min(UE_DISTANCE * Math.sqrt(count + 3), CELL_DISTANCE * 0.4);
    ofUes.set(ue.id, { x: at.x + distance * Math.cos(count * GOLDEN_ANGLE), y: at.y + distance * Math.sin(count * GOLDEN_ANGLE) });
  }
  return { cells: ofCells, ues: ofUes };
}

function boxOf(places: Place[]): { x: number; y: number; width: number; height: number } {
  const [xs, ys] = [places.map((place) => place.x), places.map((place) => place.y)];
  const [left, right] = [Math.min(...xs, 0), Math.max(...xs, 0)];
  const [top, bottom] = [Math.min(...ys, 0), Math.max(...ys, 0)];
  const margin = Math.max((right - left) * 0.06, (bottom - top) * 0.06, CELL_DISTANCE * 0.5);
  return { x: left - margin, y: top - margin, width: right - left + 2 * margin, height: bottom - top + 2 * margin };
}
