// The frame of the page: which view is shown, the state of the connection, and the dialog for a token.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Connection, useToken } from "./api";
import { recordEvents } from "./events";
import { useConnection, useFragment } from "./hooks";
import { CellsView } from "./views/cells";
import { DecodeView } from "./views/decode";
import { EventsView } from "./views/events";
import { KpiView } from "./views/kpi";
import { LatencyView } from "./views/latency";
import { MapView } from "./views/map";
import { MessagesView } from "./views/messages";
import { SlicesView } from "./views/slices";
import { SubscriptionsView } from "./views/subscriptions";
import { TopologyView } from "./views/topology";
import { TrafficView } from "./views/traffic";

const VIEWS: { name: string; title: string; View: ComponentType }[] = [
  { name: "topology", title: "Topology", View: TopologyView },
  { name: "cells", title: "Cells", View: CellsView },
  { name: "kpis", title: "KPIs", View: KpiView },
  { name: "slices", title: "Slices", View: SlicesView },
  { name: "traffic", title: "Traffic control", View: TrafficView },
  { name: "map", title: "Map", View: MapView },
  { name: "subscriptions", title: "Subscriptions", View: SubscriptionsView },
  { name: "messages", title: "Messages", View: MessagesView },
  { name: "events", title: "Events", View: EventsView },
  { name: "latency", title: "Latency", View: LatencyView },
  { name: "decode", title: "Decode", View: DecodeView },
];

const STATES: Record<Connection, string> = {
  connecting: "connecting",
  connected: "connected",
  lost: "not connected: trying again",
  token: "a token is required",
};

export function App() {
  const connection = useConnection();
  const fragment = useFragment();
  const shown = VIEWS.find((view) => view.name === fragment) ?? VIEWS[0]!;
  useEffect(() => recordEvents(), []);
  useEffect(() => {
    document.title = `${shown.title} – ferric RIC`;
  }, [shown]);
  const { View } = shown;
  return (
    <>
      <header>
        <h1>ferric RIC</h1>
        <p class={`connection ${connection}`} role="status">
          {STATES[connection]}
        </p>
        <nav aria-label="Views">
          <ul>
            {VIEWS.map((view) => (
              <li key={view.name}>
                <a href={`#${view.name}`} aria-current={view === shown ? "page" : undefined}>
                  {view.title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <main>
        {connection === "token" ? <TokenForm /> : null}
        {connection === "token" ? null : (
          <>
            <h2>{shown.title}</h2>
            <View key={shown.name} />
          </>
        )}
      </main>
    </>
  );
}

/** Asks for a token. */
function TokenForm() {
  const [given, setGiven] = useState("");
  const [refusal, setRefusal] = useState("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const isAccepted = await useToken(given.trim());
    setRefusal(isAccepted ? "" : "The RIC does not accept this token.");
  };
  return (
    <form class="token" onSubmit={submit}>
      <h2>Token</h2>
      <p>
        This RIC requires a token. It stays in the memory of this tab, until the tab is closed. A token with the role{" "}
        <code>read</code> shows everything; changes require <code>control</code>.
      </p>
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          required
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Connect</button>
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
    </form>
  );
}
