// Cells with their states.

import type { Cell, Ue } from "../documents";
import { useResource } from "kit/hooks";
import { Empty, Figure, Refusal, Table } from "kit/parts";
import { cellKey } from "./topology";

/** The most cells that are shown. */
const MAX_ROWS = 500;

export function CellsView() {
  const cells = useResource<{ cells: Cell[]; omitted: number }>("/v1/cells", 1000);
  const ues = useResource<{ ues: Ue[] }>("/v1/ues", 2000);
  const all = [...(cells.value?.cells ?? [])].sort((a, b) => cellKey(a.id).localeCompare(cellKey(b.id)));
  const counts = new Map<string, number>();
  for (const { cell } of ues.value?.ues ?? []) if (cell) counts.set(cellKey(cell), (counts.get(cellKey(cell)) ?? 0) + 1);
  const count = (is: (cell: Cell) => boolean): number => all.filter(is).length;
  return (
    <>
      <Refusal problem={cells.problem ?? ues.problem} />
      <dl class="figures">
        <Figure name="Cells">{all.length + (cells.value?.omitted ?? 0)}</Figure>
        <Figure name="Locked or shutting down">
          {count((cell) => cell.administrative_state === "locked" || cell.administrative_state === "shutting_down")}
        </Figure>
        <Figure name="Energy saving">{count((cell) => cell.is_energy_saving === true)}</Figure>
      </dl>
      {cells.value && all.length === 0 ? <Empty>No cell is known.</Empty> : null}
      {all.length > 0 ? (
        <Table label="Cells" head={["Cell", "Node", "UEs", "Administrative state", "Cell state", "Energy saving"]}>
          {all.slice(0, MAX_ROWS).map((cell) => (
            <tr key={cell.id}>
              <th scope="row">{cellKey(cell.id)}</th>
              <td>{cell.node ?? cell.base_station}</td>
              <td class="number">{counts.get(cellKey(cell.id)) ?? 0}</td>
              <td>
                <Administrative cell={cell} />
              </td>
              <td>{cell.cell_state ?? "–"}</td>
              <td>{cell.is_energy_saving === null ? "–" : cell.is_energy_saving ? <span class="saving">saving</span> : "no"}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      {all.length > MAX_ROWS ? <p class="unit">{all.length - MAX_ROWS} more.</p> : null}
      <p class="unit">States are those that nodes with E2SM-CCC report.</p>
    </>
  );
}

const STATES = { locked: "locked", shutting_down: "shutting down", unlocked: "unlocked" };

function Administrative({ cell }: { cell: Cell }) {
  const state = cell.administrative_state;
  return state === null ? <>–</> : <span class={state === "unlocked" ? "good" : "bad"}>{STATES[state]}</span>;
}

/** The states of a cell, where its node reports them. */
export function CellStates({ cell }: { cell: Cell | undefined }) {
  if (!cell) return null;
  return (
    <>
      {cell.administrative_state === null ? null : (
        <span class="state">
          <Administrative cell={cell} />
        </span>
      )}
      {cell.is_energy_saving ? <span class="state saving">energy saving</span> : null}
    </>
  );
}
