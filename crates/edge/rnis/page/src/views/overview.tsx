// Totals, latencies and rates of the service, and what it is connected to.

import { Chart, type Line } from "kit/chart";
import { duration, number, octets } from "kit/format";
import { Figure, Table } from "kit/parts";
import { type Overview, shortType } from "../documents";
import { rateBetween, useRecord } from "../overviews";
import { Refused } from "./refused";

/** The seconds over which a rate of the table is taken. */
const RATE_S = 5;

export function OverviewView() {
  const { overviews, lost, refusal } = useRecord();
  const now = overviews.at(-1);
  if (!now) return <Refused why={refusal} />;
  const before = overviews.at(-1 - RATE_S) ?? overviews[0];
  const perSecond = (of: (overview: Overview) => number): string => number(rateBetween(before, now, of));
  const latency = (us: number): string => (now.latency.count === 0 ? "–" : duration(us / 1e6));
  const times = overviews.map((overview) => overview.timeMs / 1000);
  const events = (overview: Overview, type: number): number => overview.types[type]?.events ?? 0;
  const lines = now.types
    .map((of, type): [Line, number] => [
      {
        label: shortType(of.subscriptionType),
        values: overviews.map((overview, place) => rateBetween(overviews[place - 1], overview, (at) => events(at, type))),
      },
      of.events,
    ])
    .filter(([, count]) => count > 0)
    .map(([line]) => line);
  const ofLatency = (us: (overview: Overview) => number): (number | null)[] =>
    overviews.map((overview) => (overview.latency.count === 0 ? null : us(overview) / 1000));
  return (
    <>
      <Refused why={refusal} />
      <dl class="figures">
        <Figure name="Subscriptions">{now.delivery.subscriptions}</Figure>
        <Figure name="Events/s">{perSecond((at) => at.types.reduce((sum, of) => sum + of.events, 0))}</Figure>
        <Figure name="Notifications/s">{perSecond((at) => at.delivery.delivered)}</Figure>
        <Figure name="p50 of 5 s">{latency(now.latency.p50Us)}</Figure>
        <Figure name="p99 of 5 s">{latency(now.latency.p99Us)}</Figure>
        <Figure name="Waiting">{now.delivery.waiting}</Figure>
        <Figure name="Dropped">
          <span class={now.delivery.dropped > 0 ? "bad" : ""}>{now.delivery.dropped}</span>
        </Figure>
        <Figure name="Open breakers">
          <span class={now.delivery.openBreakers > 0 ? "bad" : ""}>{now.delivery.openBreakers}</span>
        </Figure>
      </dl>
      {lost > 0 ? <p class="problem">This page was too slow for {lost} events of the service.</p> : null}
      <div class="columns charts">
        <Chart
          title="Latency, from the event to the answer"
          unit="ms"
          times={times}
          lines={[
            { label: "p50", values: ofLatency((at) => at.latency.p50Us) },
            { label: "p99", values: ofLatency((at) => at.latency.p99Us) },
          ]}
        />
        <Chart title="Events by type" unit="/s" times={times} lines={lines} />
      </div>
      <h3>Types</h3>
      <Table label="Types" head={["Type", "Subscriptions, v1", "Subscriptions, v2", "Events", "Events/s", "Notifications", "Notifications/s"]}>
        {now.types.map((of, type) => (
          <tr key={of.subscriptionType}>
            <th scope="row">{shortType(of.subscriptionType)}</th>
            <td class="number">{of.v1}</td>
            <td class="number">{of.v2}</td>
            <td class="number">{of.events}</td>
            <td class="number">{perSecond((at) => events(at, type))}</td>
            <td class="number">{of.notifications}</td>
            <td class="number">{perSecond((at) => at.types[type]?.notifications ?? 0)}</td>
          </tr>
        ))}
      </Table>
      <h3>Delivery</h3>
      <dl class="sources">
        <dt>Attempts</dt>
        <dd>
          {now.delivery.delivered} answered, {now.delivery.failures} failed, {now.delivery.retried} repeated
        </dd>
        <dt>Waiting</dt>
        <dd>
          {now.delivery.waiting} notifications, {octets(now.delivery.waitingOctets)}; {now.delivery.inFlight} without an answer
        </dd>
        <dt>Connections</dt>
        <dd>
          {now.connections.http1} of HTTP/1.1, {now.connections.http2} of HTTP/2, {now.connections.websocket} WebSockets
        </dd>
      </dl>
      <h3>Sources and broker</h3>
      <Sources of={now} />
    </>
  );
}

/** What the collectors and the broker are connected to. */
function Sources({ of: { sources, broker, brokerCounts, cells, ues } }: { of: Overview }) {
  const { ric, flexranAgents } = sources;
  return (
    <dl class="sources">
      <dt>RIC</dt>
      <dd>
        {ric === null ? "not used" : <span class={ric.isConnected ? "good" : "bad"}>{ric.isConnected ? "connected" : "not connected"}</span>}
        {ric === null ? "" : `, ${ric.nodes} E2 ${ric.nodes === 1 ? "node" : "nodes"}`}
      </dd>
      <dt>FlexRAN</dt>
      <dd>{flexranAgents === null ? "not used" : `${flexranAgents} ${flexranAgents === 1 ? "agent" : "agents"}`}</dd>
      <dt>Network</dt>
      <dd>
        {cells} cells, {ues} UEs
      </dd>
      <dt>Broker</dt>
      <dd>
        {broker}: {brokerCounts.published} published, {brokerCounts.received} received,{" "}
        <span class={brokerCounts.lost > 0 ? "bad" : ""}>{brokerCounts.lost} lost</span>, {brokerCounts.redelivered} redelivered,{" "}
        {brokerCounts.waiting} waiting
        {broker === "embedded" ? "" : `; ${brokerCounts.connections} connections so far`}
      </dd>
    </dl>
  );
}
