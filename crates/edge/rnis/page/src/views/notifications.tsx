// The notifications that are queued while this view is shown, each with its body.

import { openStream } from "kit/api";
import { timeOfDay } from "kit/format";
import { Choice, Empty, Figure, Table } from "kit/parts";
import { Tree } from "kit/tree";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Notification, shortType } from "../documents";
import { useRecord } from "../overviews";
import { Refused } from "./refused";

/** The most notifications of a type that are kept: frequent types do not displace others. */
const MAX_OF_TYPE = 50;
const DRAWING_MS = 250;
const ALL = "all";

interface Row extends Notification {
  number: number;
  type: string;
}

export function NotificationsView() {
  const [isPaused, setPaused] = useState(false);
  const [wanted, setWanted] = useState(ALL);
  const [refusal, setRefusal] = useState("");
  const [shown, setShown] = useState<Row[]>([]);
  const [selected, setSelected] = useState<Row>();
  const kept = useRef<Row[]>([]);
  const counts = useRef({ listed: 0, omitted: 0 });
  useEffect(() => {
    if (isPaused) return;
    let timer = 0;
    const stop = openStream(
      "/rnis/v1/stream?topics=notifications",
      ({ event, data }) => {
        if (event === "lost") counts.current.omitted += Number(data["events"]);
        if (event !== "notification") return;
        const notification = data as unknown as Notification;
        counts.current.listed += 1;
        counts.current.omitted += notification.omitted;
        const type = shortType(String(notification.notification?.["notificationType"] ?? "too long"));
        kept.current = bounded([...kept.current, { ...notification, type, number: counts.current.listed }]);
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
  }, [isPaused]);
  const known = useRecord().overviews.at(-1)?.types.map((of) => shortType(of.subscriptionType)) ?? [];
  const types = [...new Set([...known, ...shown.map((row) => row.type)])];
  const rows = shown.filter((row) => wanted === ALL || row.type === wanted);
  return (
    <>
      <div class="choices">
        <Choice
          label="Type"
          value={wanted}
          options={[[ALL, "all types"], ...types.map((type): [string, string] => [type, type])]}
          onChange={setWanted}
        />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Continue" : "Pause"}
        </button>
      </div>
      <Refused why={refusal} />
      <dl class="figures">
        <Figure name="Notifications">{counts.current.listed}</Figure>
        <Figure name="Not listed">{counts.current.omitted}</Figure>
      </dl>
      <p class="unit">The service passes notifications on while this view is shown: at most 20 in a second.</p>
      {selected ? <Body key={selected.number} of={selected} onClose={() => setSelected(undefined)} /> : null}
      {rows.length === 0 ? <Empty>No notification since this view was opened.</Empty> : null}
      {rows.length > 0 ? (
        <div class="notifications">
          <Table label="Notifications, the newest first" head={["Time", "Type", "UE", "Cell", "Subscriptions", "Octets"]}>
            {[...rows].reverse().map((row) => (
              <tr key={row.number} class={row.number === selected?.number ? "selected" : ""}>
                <td>
                  <time>{timeOfDay(new Date(row.timeMs))}</time>
                </td>
                <td>
                  <button type="button" class="plain-button" aria-expanded={row.number === selected?.number} onClick={() => setSelected(row)}>
                    {row.type}
                  </button>
                </td>
                <td>{ueOf(row)}</td>
                <td>{cellsOf(row)}</td>
                <td class="number">{row.subscriptions}</td>
                <td class="number">{row.octets}</td>
              </tr>
            ))}
          </Table>
        </div>
      ) : null}
    </>
  );
}

/** The rows without the oldest one of the newest one's type, if there are too many of that type. */
function bounded(rows: Row[]): Row[] {
  const type = rows.at(-1)?.type;
  if (rows.filter((row) => row.type === type).length <= MAX_OF_TYPE) return rows;
  const oldest = rows.findIndex((row) => row.type === type);
  return rows.filter((_, place) => place !== oldest);
}

/** The first identity of the UE. */
function ueOf({ notification }: Row): string {
  const ids = notification?.["associateId"] as { value: string }[] | undefined;
  return ids?.[0]?.value ?? "–";
}

/** The cells of a notification, as far as its members name them; of a cell change from the source to the targets. */
function cellsOf({ notification }: Row): string {
  const cell = (of: unknown): string | undefined => (of as { cellId?: string } | undefined)?.cellId;
  if (!notification) return "–";
  const targets = (notification["trgEcgi"] as unknown[] | undefined)?.map(cell) ?? [];
  const serving = (notification["servCellMeasInfo"] as { nrcgi?: { nrCellId?: string } }[] | undefined)?.[0]?.nrcgi?.nrCellId;
  const source = cell(notification["srcEcgi"]) ?? cell(notification["ecgi"]) ?? serving;
  return [source, ...targets].filter(Boolean).join(" → ") || "–";
}

/** A notification as a tree. */
function Body({ of, onClose }: { of: Row; onClose: () => void }) {
  return (
    <section class="decoded">
      <h3>
        {of.type}{" "}
        <span class="unit">
          {timeOfDay(new Date(of.timeMs))}, {of.octets} octets without its link
        </span>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </h3>
      {of.notification ? (
        <div class="tree" role="region" aria-label="The notification" tabIndex={0}>
          <Tree name="notification" value={of.notification} />
        </div>
      ) : (
        <Empty>It exceeds what the service passes on.</Empty>
      )}
    </section>
  );
}
