// Base stations, their E2 nodes, interfaces and cells.

import { useState } from "preact/hooks";
import type { BaseStation, Cell, NodeDetails, NodeSummary, Ue } from "../documents";
import { useResource } from "kit/hooks";
import { CellStates } from "./cells";
import { Empty, Figure, Refusal, Table } from "kit/parts";

export function TopologyView() {
  const nodes = useResource<{ nodes: NodeSummary[] }>("/v1/nodes", 1000);
  const stations = useResource<{ base_stations: BaseStation[] }>("/v1/base-stations", 1000);
  const ues = useResource<{ ues: Ue[]; omitted: number }>("/v1/ues", 2000);
  const cells = useResource<{ cells: Cell[] }>("/v1/cells", 1000);
  const allCells = cells.value?.cells ?? [];
  const allNodes = nodes.value?.nodes ?? [];
  const allStations = stations.value?.base_stations ?? [];
  const allUes = ues.value?.ues ?? [];
  return (
    <>
      <Refusal problem={nodes.problem ?? stations.problem} />
      <dl class="figures">
        <Figure name="Base stations">{allStations.length}</Figure>
        <Figure name="E2 nodes">{allNodes.length}</Figure>
        <Figure name="Cells">{cellsOf(allStations, allUes, allCells).length}</Figure>
        <Figure name="UEs">{allUes.length + (ues.value?.omitted ?? 0)}</Figure>
      </dl>
      {nodes.value && allNodes.length === 0 ? (
        <Empty>
          No E2 node is connected. <code>ferric ran</code> starts an emulated base station.
        </Empty>
      ) : null}
      <ul class="stations">
        {allStations.map((station) => (
          <Station key={station.id} station={station} nodes={allNodes} ues={allUes} cells={allCells} />
        ))}
      </ul>
    </>
  );
}

/** The identity of a cell without its PLMN, in nine digits: `nr-00101-3800001` and `003800001` are the same. */
export function cellKey(cell: string): string {
  return cell.slice(cell.lastIndexOf("-") + 1).padStart(9, "0");
}

/** All cells: those that base stations declare or report, and those of UEs. */
export function cellsOf(stations: BaseStation[], ues: Ue[], reported: Cell[] = []): { cell: string; station: string }[] {
  const cells = new Map<string, string>();
  for (const cell of reported) cells.set(cellKey(cell.id), cell.base_station);
  for (const station of stations) for (const cell of station.cells) cells.set(cellKey(cell.id), station.id);
  for (const ue of ues) if (ue.cell && !cells.has(cellKey(ue.cell))) cells.set(cellKey(ue.cell), ue.base_station ?? "");
  return [...cells].map(([cell, station]) => ({ cell, station })).sort((a, b) => a.cell.localeCompare(b.cell));
}

function Station({ station, nodes, ues, cells }: { station: BaseStation; nodes: NodeSummary[]; ues: Ue[]; cells: Cell[] }) {
  const own = ues.filter((ue) => ue.base_station === station.id);
  const reported = cells.filter((cell) => cell.base_station === station.id);
  return (
    <li class="station">
      <h3>
        {station.id}
        <span class={station.is_complete ? "state good" : "state bad"}>{station.is_complete ? "complete" : "incomplete"}</span>
      </h3>
      <ul class="parts">
        {station.nodes.map((part) => (
          <Part key={part.id} id={part.id} part={part.part} node={nodes.find((node) => node.id === part.id)} />
        ))}
        {station.missing.map((missing) => (
          <li key={missing}>
            {missing} <span class="state bad">not connected</span>
          </li>
        ))}
      </ul>
      <ul class="cells" aria-label={`Cells of ${station.id}`}>
        {cellsOf([station], own, reported).map(({ cell }) => {
          const count = own.filter((ue) => ue.cell && cellKey(ue.cell) === cell).length;
          return (
            <li key={cell}>
              cell {cell}: {count} {count === 1 ? "UE" : "UEs"}
              <CellStates cell={reported.find((of) => cellKey(of.id) === cell)} />
            </li>
          );
        })}
      </ul>
    </li>
  );
}

const PARTS: Record<string, string> = { whole: "whole base station", "cu-cp": "CU-CP", "cu-up": "CU-UP", du: "DU" };

/** An E2 node; its details are read while they are open. */
function Part({ id, part, node }: { id: string; part: string; node: NodeSummary | undefined }) {
  const [isOpen, setOpen] = useState(false);
  const details = useResource<NodeDetails>(isOpen ? `/v1/nodes/${encodeURIComponent(id)}` : null, 1000);
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <b>{id}</b> {PARTS[part] ?? part}
          {node ? (
            <>
              <span class="state good">E2AP v{node.e2ap}</span>
              <span class="unit">
                {node.ues} {node.ues === 1 ? "UE" : "UEs"}
              </span>
            </>
          ) : (
            <span class="state bad">not connected</span>
          )}
        </summary>
        <Refusal problem={details.problem} />
        {details.value ? <Details node={details.value} /> : null}
      </details>
    </li>
  );
}

function Details({ node }: { node: NodeDetails }) {
  const sources = new Map(node.sources.map((source) => [source.function, source]));
  return (
    <Table label={`RAN functions of ${node.id}`} head={["Function", "Revision", "Object identifier", "RIC's reports", "State"]}>
      {node.functions.map((of) => {
        const source = sources.get(of.id);
        return (
          <tr key={of.id}>
            <th scope="row">{of.id}</th>
            <td>{of.revision}</td>
            <td>{of.oid}</td>
            <td class="number">{source ? source.reports : ""}</td>
            <td>{source ? `${source.model}, ${source.wire}: ${source.reason ?? source.state}` : ""}</td>
          </tr>
        );
      })}
    </Table>
  );
}
