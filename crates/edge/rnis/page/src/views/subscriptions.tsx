// The subscriptions with their delivery.

import { duration, number, octets } from "kit/format";
import { useRates } from "kit/hooks";
import { Empty, Table } from "kit/parts";
import { type Subscription, type Subscriptions, shortType } from "../documents";
import { useTopic } from "../overviews";
import { Refused } from "./refused";

const BREAKERS: Record<Subscription["breaker"], string> = { closed: "breaker closed", open: "breaker open", halfOpen: "breaker half-open" };

export function SubscriptionsView() {
  const { value, refusal } = useTopic<Subscriptions>("subscriptions");
  const rates = useRates(
    value?.subscriptions,
    (of) => of.id,
    (of) => [of.delivered],
  );
  const all = value?.subscriptions ?? [];
  return (
    <>
      <Refused why={refusal} />
      {value && all.length === 0 ? <Empty>There is no subscription.</Empty> : null}
      {all.length > 0 ? (
        <Table
          label="Subscriptions"
          head={["Id", "Type", "Criteria", "Channel", "State", "Delivered/s", "Waiting", "Dropped", "p50, p99", "Last failure"]}
        >
          {all.map((of) => (
            <tr key={of.id}>
              <th scope="row">{of.id}</th>
              <td>
                {shortType(of.subscriptionType)}
                <div class="unit">{of.version}</div>
              </td>
              <td class="wrap">{of.criteria}</td>
              <td>
                <Channel of={of} />
              </td>
              <td>
                <State of={of} />
              </td>
              <td class="number">{number(rates(of.id, 0))}</td>
              <td class="number">
                {of.waiting}
                {of.waitingOctets > 0 ? <div class="unit">{octets(of.waitingOctets)}</div> : null}
              </td>
              <td class={of.dropped > 0 ? "number bad" : "number"}>{of.dropped}</td>
              <td class="number">
                {of.delivered > 0 ? duration(of.p50Us / 1e6) : "–"}
                {of.delivered > 0 ? <div class="unit">{duration(of.p99Us / 1e6)}</div> : null}
              </td>
              <td class={of.lastError ? "wrap bad" : ""}>{of.lastError ?? "none"}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      {value && value.omitted > 0 ? <p class="unit">{value.omitted} more.</p> : null}
      <p class="unit">Latencies of a subscription are those of all its notifications, from its queue to the answer.</p>
    </>
  );
}

/** Where notifications go: the server of a callback. */
function Channel({ of }: { of: Subscription }) {
  if (of.callback === undefined) return <>WebSocket</>;
  const [scheme, server] = of.callback.split("://");
  return (
    <>
      {server}
      <div class="unit">callback, {scheme}</div>
    </>
  );
}

/** Whether notifications reach the subscriber, and until when. */
function State({ of }: { of: Subscription }) {
  const isWaiting = of.callback === undefined && !of.isConnected;
  const state = isWaiting ? "WebSocket not open" : of.breaker === "closed" ? "active" : "failing";
  return (
    <>
      <span class={state === "active" ? "good" : state === "failing" ? "bad" : ""}>{state}</span>
      <div class="unit">{BREAKERS[of.breaker]}</div>
      {of.expiryDeadline ? <div class="unit">until {new Date(of.expiryDeadline.seconds * 1000).toLocaleTimeString()}</div> : null}
    </>
  );
}
