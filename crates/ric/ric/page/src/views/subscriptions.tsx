// Subscriptions and xApps, the rates of the relay, and how far the RIC is behind.

import type { Subscription, Xapp } from "../documents";
import { duration, number, octets } from "kit/format";
import { useRates, useResource } from "kit/hooks";
import { histogramOf, quantileBound } from "../metrics";
import { Empty, Figure, Refusal, Table } from "kit/parts";
import { rateOf, useMetrics, valueOf } from "./use_metrics";

/** The most subscriptions that are shown. */
const MAX_ROWS = 200;

export function SubscriptionsView() {
  const xapps = useResource<{ xapps: Xapp[] }>("/v1/xapps", 1000, 0);
  const subscriptions = useResource<{ subscriptions: Subscription[]; omitted: number }>("/v1/subscriptions", 1000, 0);
  const readings = useMetrics(2000);
  const all = subscriptions.value?.subscriptions ?? [];
  const rateOfSubscription = useRates(
    subscriptions.value?.subscriptions,
    (of) => of.id,
    (of) => [of.indications, of.indication_octets],
  );
  const rateOfXapp = useRates(
    xapps.value?.xapps,
    (of) => of.number,
    (of) => [of.dropped_reports],
  );
  const lag = readings ? quantileBound(histogramOf(readings.now, "ferric_loop_delay_seconds", () => true), 0.99) : null;
  const perSecond = (name: string): string => (readings ? number(rateOf(readings, name)) : "–");
  return (
    <>
      <Refusal problem={xapps.problem ?? subscriptions.problem} />
      <dl class="figures">
        <Figure name="Indications per second">{perSecond("ferric_indications_total")}</Figure>
        <Figure name="Deliveries per second">{perSecond("ferric_deliveries_total")}</Figure>
        <Figure name="Reports dropped">{readings ? valueOf(readings.now, "ferric_dropped_reports_total") : "–"}</Figure>
        <Figure name="Delay of the event loop, p99">{lag === null ? "–" : lag === Infinity ? "> 10 s" : `≤ ${duration(lag)}`}</Figure>
      </dl>
      <h3>xApps</h3>
      {xapps.value?.xapps.length === 0 ? <Empty>No xApp is connected.</Empty> : null}
      {xapps.value && xapps.value.xapps.length > 0 ? (
        <Table label="xApps" head={["xApp", "Session", "Outbox", "Dropped", "Dropped/s", "Requests", "Subscriptions"]}>
          {xapps.value.xapps.map((xapp) => (
            <tr key={xapp.number}>
              <th scope="row">{xapp.name}</th>
              <td class="number">{xapp.number}</td>
              <td class="number">{octets(xapp.outbox_octets)}</td>
              <td class={xapp.dropped_reports > 0 ? "number bad" : "number"}>{xapp.dropped_reports}</td>
              <td class="number">{number(rateOfXapp(xapp.number, 0))}</td>
              <td class="number">{xapp.requests}</td>
              <td>{xapp.subscriptions.length === 0 ? "none" : xapp.subscriptions.join(", ")}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      <h3>Subscriptions</h3>
      {subscriptions.value && all.length === 0 ? <Empty>There is no subscription.</Empty> : null}
      {all.length > 0 ? (
        <Table
          label="Subscriptions"
          head={["Id", "Node", "Function", "State", "Indications/s", "Octets/s", "Dropped", "Newest", "Apps"]}
        >
          {all.slice(0, MAX_ROWS).map((of) => (
            <tr key={of.id}>
              <th scope="row">{of.id}</th>
              <td>{of.node ?? "lost"}</td>
              <td class="number">{of.function}</td>
              <td>{of.state}</td>
              <td class="number">{number(rateOfSubscription(of.id, 0))}</td>
              <td class="number">{octets(rateOfSubscription(of.id, 1))}</td>
              <td class={of.dropped_reports > 0 ? "number bad" : "number"}>{of.dropped_reports}</td>
              <td class="number">{of.newest_age_ms === null ? "–" : `${duration(of.newest_age_ms / 1e3)} ago`}</td>
              <td>{of.apps.join(", ")}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      {all.length > MAX_ROWS ? <p class="unit">{all.length - MAX_ROWS + (subscriptions.value?.omitted ?? 0)} more.</p> : null}
    </>
  );
}
