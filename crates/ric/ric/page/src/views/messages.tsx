// The E2AP messages of a node, while this view is shown: each is decoded as a tree when it is chosen.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { openStream, reasonOf, request } from "kit/api";
import type { NodeMessage, NodeSummary } from "../documents";
import { timeOfDay } from "kit/format";
import { useResource } from "kit/hooks";
import { Tree } from "kit/tree";
import { Empty, Figure, Refusal, Table } from "kit/parts";
import { NodeChoice } from "./node_choice";

/** The most indications, and the most other messages, that are kept: indications do not displace others. */
const MAX_MESSAGES = 100;
const DRAWING_MS = 250;

export function MessagesView() {
  const nodes = useResource<{ nodes: NodeSummary[] }>("/v1/nodes", 2000);
  const [chosen, setChosen] = useState("");
  const all = nodes.value?.nodes ?? [];
  const known = useRef("");
  // a node that is lost may return: its messages stay
  const node = chosen || known.current || all[0]?.id || "";
  known.current = node;
  return (
    <>
      <Refusal problem={nodes.problem} />
      {node ? (
        <MessagesOfNode key={node} node={node} choice={<NodeChoice nodes={all} value={node} onChange={setChosen} />} />
      ) : nodes.value ? (
        <Empty>No E2 node is connected.</Empty>
      ) : null}
    </>
  );
}

interface Row extends NodeMessage {
  number: number;
}

function MessagesOfNode({ node, choice }: { node: string; choice: ComponentChildren }) {
  const [isPaused, setPaused] = useState(false);
  const [hidesIndications, setHidesIndications] = useState(false);
  const [refusal, setRefusal] = useState("");
  const [shown, setShown] = useState<Row[]>([]);
  const [selected, setSelected] = useState<Row>();
  const kept = useRef<Row[]>([]);
  const counts = useRef({ listed: 0, omitted: 0 });
  useEffect(() => {
    if (isPaused) return;
    let timer = 0;
    const stop = openStream(
      `/v1/nodes/${encodeURIComponent(node)}/messages`,
      ({ event, data }) => {
        if (event === "lost") counts.current.omitted += Number(data["events"]);
        if (event !== "message") return;
        const message = data as unknown as NodeMessage;
        counts.current.listed += 1;
        counts.current.omitted += message.omitted;
        kept.current = bounded([...kept.current, { ...message, number: counts.current.listed }]);
        timer ||= window.setTimeout(() => {
          timer = 0;
          setShown(kept.current);
        }, DRAWING_MS);
      },
      setRefusal,
    );
    return () => {
      stop();
      window.clearTimeout(timer);
      setShown(kept.current);
    };
  }, [node, isPaused]);
  const rows = hidesIndications ? shown.filter((row) => row.message !== INDICATION) : shown;
  return (
    <>
      <div class="choices">
        {choice}
        <label>
          <input type="checkbox" checked={hidesIndications} onChange={() => setHidesIndications(!hidesIndications)} /> Hide
          indications
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Continue" : "Pause"}
        </button>
      </div>
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
      <dl class="figures">
        <Figure name="Messages">{counts.current.listed}</Figure>
        <Figure name="Not listed">{counts.current.omitted}</Figure>
      </dl>
      <p class="unit">
        The RIC passes messages on while this view is shown: at most 20 indications and 100 others in a second.
      </p>
      {selected ? <Decoded key={selected.number} of={selected} onClose={() => setSelected(undefined)} /> : null}
      {rows.length === 0 ? <Empty>No message since this view was opened.</Empty> : null}
      <div class="messages">
        <Table label="Messages, the newest first" head={["Time", "Direction", "Message", "Request", "Function", "Octets"]}>
          {[...rows].reverse().map((row) => (
            <tr key={row.number} class={row.number === selected?.number ? "selected" : ""}>
              <td>
                <time>{timeOfDay(new Date(row.time_ms))}</time>
              </td>
              <td>{row.direction === "to_node" ? "RIC → node" : "node → RIC"}</td>
              <td>
                <button type="button" class="plain-button" aria-expanded={row.number === selected?.number} onClick={() => setSelected(row)}>
                  {nameOf(row)}
                </button>
              </td>
              <td class="number">
                {row.request ? row.request.join(".") : row.transaction === null ? "" : `transaction ${row.transaction}`}
              </td>
              <td class="number">{row.function ?? ""}</td>
              <td class="number">{row.octets}</td>
            </tr>
          ))}
        </Table>
      </div>
    </>
  );
}

const INDICATION = "RicIndication";

/** The rows without the oldest one of the newest one's kind, if there are too many of that kind. */
function bounded(rows: Row[]): Row[] {
  const isIndication = rows.at(-1)?.message === INDICATION;
  const isSame = (row: Row): boolean => (row.message === INDICATION) === isIndication;
  if (rows.filter(isSame).length <= MAX_MESSAGES) return rows;
  const oldest = rows.findIndex(isSame);
  return rows.filter((_, place) => place !== oldest);
}

function nameOf({ message, procedure }: NodeMessage): string {
  return message ?? (procedure === null ? "malformed" : `procedure ${procedure}, malformed`);
}

/** A message as a tree. */
function Decoded({ of, onClose }: { of: Row; onClose: () => void }) {
  const [value, setValue] = useState<unknown>();
  const [refusal, setRefusal] = useState(of.pdu === null ? `Its ${of.octets} octets exceed what the RIC passes on.` : "");
  useEffect(() => {
    if (of.pdu === null) return;
    request<{ message: unknown }>("POST", "/v1/decode", { type: of.type, octets: of.pdu }).then(
      ({ message }) => setValue(message),
      (thrown) => setRefusal(reasonOf(thrown)),
    );
  }, [of]);
  return (
    <section class="decoded">
      <h3>
        {nameOf(of)}{" "}
        <span class="unit">
          {timeOfDay(new Date(of.time_ms))}, {of.octets} octets
        </span>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </h3>
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
      {value === undefined ? null : (
        <div class="tree" role="region" aria-label="The decoded message" tabIndex={0}>
          <Tree name="message" value={value} />
        </div>
      )}
    </section>
  );
}
