// The events, with filters.

import { useEffect, useRef, useState } from "preact/hooks";
import { type RecordedEvent, type Topic, TOPICS, events, observeEvents } from "../events";
import { timeOfDay } from "kit/format";
import { Empty } from "kit/parts";

/** The most events that are shown. */
const MAX_ROWS = 200;
const DRAWING_MS = 250;

const TITLES: Record<Topic, string> = { nodes: "Nodes", ues: "UEs", controls: "Controls", log: "Log", page: "This page" };

export function EventsView() {
  const [hidden, setHidden] = useState<ReadonlySet<Topic>>(new Set());
  const [wanted, setWanted] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [shown, setShown] = useState<RecordedEvent[]>([...events]);
  const timer = useRef(0);
  useEffect(() => {
    if (isPaused) return;
    setShown([...events]);
    const stop = observeEvents(() => {
      timer.current ||= window.setTimeout(() => {
        timer.current = 0;
        setShown([...events]);
      }, DRAWING_MS);
    });
    return () => {
      stop();
      window.clearTimeout(timer.current);
      timer.current = 0;
    };
  }, [isPaused]);
  const toggle = (topic: Topic): void => {
    const now = new Set(hidden);
    if (!now.delete(topic)) now.add(topic);
    setHidden(now);
  };
  const filter = wanted.trim().toLowerCase();
  const matching = shown.filter((event) => !hidden.has(event.topic) && (!filter || textOf(event).toLowerCase().includes(filter)));
  return (
    <>
      <fieldset class="choices">
        <legend>Topics</legend>
        {TOPICS.map((topic) => (
          <label key={topic}>
            <input type="checkbox" checked={!hidden.has(topic)} onChange={() => toggle(topic)} /> {TITLES[topic]}
          </label>
        ))}
      </fieldset>
      <div class="choices">
        <label class="choice">
          Filter
          <input type="search" value={wanted} placeholder="text" onInput={(event) => setWanted(event.currentTarget.value)} />
        </label>
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Continue" : "Pause"}
        </button>
      </div>
      {matching.length === 0 ? <Empty>No event matches since the page was opened.</Empty> : null}
      <div class="log" role="region" aria-label="Events, the newest first" tabIndex={0}>
        <ol>
          {matching
            .slice(-MAX_ROWS)
            .reverse()
            .map((event) => (
              <li key={event.number}>
                <time>{timeOfDay(event.at)}</time>
                <span class={`topic ${event.topic}`}>{event.kind}</span>
                <span class="text">{textOf(event)}</span>
              </li>
            ))}
        </ol>
      </div>
    </>
  );
}

/** An event in one line. */
function textOf({ kind, data }: RecordedEvent): string {
  if (kind === "log") return String(data["line"]);
  const value = (of: unknown): string => (typeof of === "number" ? String(Math.round(of * 1000) / 1000) : String(of));
  return Object.entries(data)
    .filter(([, of]) => of !== null && of !== undefined)
    .map(([name, of]) => `${name} ${value(of)}`)
    .join(", ");
}
