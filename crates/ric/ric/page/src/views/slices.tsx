// The slices of a direction: a bar whose borders are dragged, and what the slices get.

import { useEffect, useRef, useState } from "preact/hooks";
import { reasonOf, request } from "kit/api";
import type { Direction, NodeSummary, Ue } from "../documents";
import { number } from "kit/format";
import { useClock, useResource } from "kit/hooks";
import { UE_MEASUREMENTS } from "../kpm";
import { SliceBar } from "../slice_bar";
import { useUeFeed, useUeNames } from "./kpi";
import { Choice, Empty, Refusal, Table } from "kit/parts";
import { NodeChoice } from "./node_choice";

/** Time after the last step of a key before the change is sent, so that ten steps are one request. */
const KEY_DELAY_MS = 400;
const ACHIEVED_MS = 1000;

export function SlicesView() {
  const nodes = useResource<{ nodes: NodeSummary[] }>("/v1/nodes", 2000);
  const [chosen, setChosen] = useState("");
  const [direction, setDirection] = useState<"dl" | "ul">("dl");
  const able = (nodes.value?.nodes ?? []).filter((node) => node.has_slices);
  const node = able.find((of) => of.id === chosen) ?? able[0];
  return (
    <>
      <Refusal problem={nodes.problem} />
      {node ? (
        <>
          <div class="choices">
            <NodeChoice nodes={able} value={node.id} onChange={setChosen} />
            <Choice
              label="Direction"
              value={direction}
              options={[
                ["dl", "downlink"],
                ["ul", "uplink"],
              ]}
              onChange={setDirection}
            />
          </div>
          <SlicesOfNode key={`${node.id} ${direction}`} node={node.id} direction={direction} />
        </>
      ) : nodes.value ? (
        <Empty>No connected node offers slices.</Empty>
      ) : null}
    </>
  );
}

function SlicesOfNode({ node, direction }: { node: string; direction: "dl" | "ul" }) {
  const path = `/v1/nodes/${encodeURIComponent(node)}/slices/${direction}`;
  const slices = useResource<Direction>(path, 1000);
  const [draft, setDraft] = useState<number[]>();
  const [outcome, setOutcome] = useState("");
  const [refusal, setRefusal] = useState("");
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const now = slices.value;

  const put = async (body: Direction, done: string): Promise<void> => {
    try {
      await request("PUT", path, body);
      setOutcome(done);
      setRefusal("");
    } catch (thrown) {
      setOutcome("");
      setRefusal(reasonOf(thrown));
    }
    setDraft(undefined);
    slices.reload();
  };
  const send = (shares: number[], delay_ms: number): void => {
    window.clearTimeout(timer.current);
    setDraft(shares);
    timer.current = window.setTimeout(() => {
      if (!now) return;
      const changed = now.slices.map((slice, place) => ({ ...slice, share_percent: shares[place] ?? 0 }));
      const text = changed.map((slice) => `${slice.label || `slice ${slice.id}`} ${number(slice.share_percent)} %`).join(", ");
      void put({ ...now, slices: changed }, `The node has accepted: ${text}.`);
    }, delay_ms);
  };
  const create = (): void => {
    const half = (id: number, label: string) => ({ id, label, ue_scheduler: "PF", share_percent: 50 });
    void put(
      { algorithm: "NVS", sharing: true, slices: [half(1, "first"), half(2, "second")] },
      "The node has accepted two slices with half of the cell each.",
    );
  };

  const areShares = now !== undefined && now.slices.length > 0 && now.slices.every((slice) => slice.share_percent !== undefined);
  const shares = draft ?? now?.slices.map((slice) => slice.share_percent ?? 0) ?? [];
  return (
    <>
      <Refusal problem={slices.problem} />
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
      <p role="status" class="outcome">
        {outcome}
      </p>
      {now && now.slices.length === 0 ? (
        <>
          <Empty>The {direction === "dl" ? "downlink" : "uplink"} has no slices: all UEs share it.</Empty>
          <button type="button" onClick={create}>
            Create two slices
          </button>
        </>
      ) : null}
      {now && areShares ? (
        <>
          <p>
            Algorithm {now.algorithm}
            {now.sharing === undefined ? "" : now.sharing ? ", unused resources are shared" : ", unused resources stay unused"}.
          </p>
          <h3>Asked for</h3>
          <SliceBar
            labels={now.slices.map((slice) => slice.label || `slice ${slice.id}`)}
            shares={shares}
            onMove={(moved) => setDraft(moved)}
            onRelease={(moved) => send(moved, 0)}
            onStep={(moved) => send(moved, KEY_DELAY_MS)}
          />
        </>
      ) : null}
      {now && now.slices.length > 0 && !areShares ? (
        <p>The slices of {now.algorithm} have no shares that can be dragged: change them by REST.</p>
      ) : null}
      {now && now.slices.length > 0 ? <Achieved node={node} direction={direction} slices={now} shares={shares} /> : null}
    </>
  );
}

/** What the slices get: the resource blocks of their UEs, from KPM. */
function Achieved({ node, direction, slices, shares }: { node: string; direction: "dl" | "ul"; slices: Direction; shares: number[] }) {
  useClock(ACHIEVED_MS);
  const feed = useUeFeed(1000);
  const names = useUeNames();
  const prbs = UE_MEASUREMENTS.findIndex((of) => of.name === (direction === "dl" ? "RRU.PrbTotDl" : "RRU.PrbTotUl"));
  const rates = UE_MEASUREMENTS.findIndex((of) => of.name === (direction === "dl" ? "DRB.UEThpDl" : "DRB.UEThpUl"));
  const achieved = new Map<number | null, { percent: number; kbps: number; ues: number }>();
  for (const of of feed?.series.values() ?? []) {
    if (of.node !== node) continue;
    const slice = names.get(of.ue)?.slices?.[direction] ?? null;
    const sum = achieved.get(slice) ?? { percent: 0, kbps: 0, ues: 0 };
    sum.percent += of.series.mean(prbs, 2) ?? 0;
    sum.kbps += of.series.mean(rates, 2) ?? 0;
    sum.ues += 1;
    achieved.set(slice, sum);
  }
  const rows = slices.slices.map((slice, place) => ({
    id: slice.id as number | null,
    label: slice.label || `slice ${slice.id}`,
    share: slice.share_percent === undefined ? null : (shares[place] ?? null),
  }));
  if (achieved.has(null)) rows.push({ id: null, label: "no slice", share: null });
  return (
    <>
      <h3>Achieved</h3>
      <div class="bar achieved" role="img" aria-label="Resource blocks that the slices use; the table has the values">
        {rows.map(({ id, label }, place) => (
          <div key={label} class={`segment fill-${place % 8}`} style={{ width: `${Math.min(100, achieved.get(id)?.percent ?? 0)}%` }} />
        ))}
      </div>
      <Table label="Slices" head={["Slice", "Asked for", "Achieved", "Sum of the UEs' throughput", "UEs"]}>
        {rows.map(({ id, label, share }, place) => {
          const of = achieved.get(id);
          return (
            <tr key={label}>
              <th scope="row">
                <span class={`swatch line-${place % 8}`} aria-hidden="true" /> {label}
              </th>
              <td class="number">{share === null ? "–" : `${number(share)} %`}</td>
              <td class="number">{of ? `${number(of.percent)} %` : "–"}</td>
              <td class="number">{of ? `${number(of.kbps / 1000)} Mbit/s` : "–"}</td>
              <td class="number">{of?.ues ?? 0}</td>
            </tr>
          );
        })}
      </Table>
      <Members node={node} direction={direction} slices={slices} />
    </>
  );
}

/** The slice of each UE, which can be changed. */
function Members({ node, direction, slices }: { node: string; direction: "dl" | "ul"; slices: Direction }) {
  const path = `/v1/nodes/${encodeURIComponent(node)}/ues`;
  const ues = useResource<{ ues: NodeUe[] }>(path, 2000);
  const [refusal, setRefusal] = useState("");
  const move = async (rnti: number, slice: number | null): Promise<void> => {
    try {
      await request("PUT", `${path}/${rnti}/slices`, { [direction]: slice });
      setRefusal("");
    } catch (thrown) {
      setRefusal(reasonOf(thrown));
    }
    ues.reload();
  };
  const moveAll = async (): Promise<void> => {
    const ids = slices.slices.map((slice) => slice.id);
    for (const [place, ue] of (ues.value?.ues ?? []).entries()) await move(ue.rnti, ids[place % ids.length] ?? null);
  };
  const options: [number, string][] = [[-1, "no slice"], ...slices.slices.map((of): [number, string] => [of.id, of.label || `slice ${of.id}`])];
  return (
    <details class="members">
      <summary>UEs and their slices</summary>
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
      <button type="button" onClick={() => void moveAll()}>
        Divide the UEs equally among the slices
      </button>
      <ul class="ues">
        {(ues.value?.ues ?? []).map((ue) => (
          <li key={ue.rnti}>
            <Choice
              label={`0x${ue.rnti.toString(16)}`}
              value={ue.slices[direction] ?? -1}
              options={options}
              onChange={(id) => void move(ue.rnti, id === -1 ? null : id)}
            />
          </li>
        ))}
      </ul>
    </details>
  );
}

interface NodeUe {
  rnti: number;
  slices: NonNullable<Ue["slices"]>;
}
