// The views of the page.

import { useEffect } from "preact/hooks";
import { Frame, type View } from "kit/frame";
import { recordEvents } from "./events";
import { AlarmsView } from "./views/alarms";
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

const VIEWS: View[] = [
  { name: "topology", title: "Topology", View: TopologyView },
  { name: "cells", title: "Cells", View: CellsView },
  { name: "kpis", title: "KPIs", View: KpiView },
  { name: "slices", title: "Slices", View: SlicesView },
  { name: "traffic", title: "Traffic control", View: TrafficView },
  { name: "map", title: "Map", View: MapView },
  { name: "subscriptions", title: "Subscriptions", View: SubscriptionsView },
  { name: "messages", title: "Messages", View: MessagesView },
  { name: "alarms", title: "Alarms", View: AlarmsView },
  { name: "events", title: "Events", View: EventsView },
  { name: "latency", title: "Latency", View: LatencyView },
  { name: "decode", title: "Decode", View: DecodeView },
];

export function App() {
  useEffect(() => recordEvents(), []);
  const roles = (
    <>
      A token with the role <code>read</code> shows everything; changes require <code>control</code>.
    </>
  );
  return <Frame title="ferric RIC" views={VIEWS} roles={roles} />;
}
