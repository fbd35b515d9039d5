// The cells and UEs that the service knows.

import { Empty, Figure, Table } from "kit/parts";
import type { Network } from "../documents";
import { useTopic } from "../overviews";
import { Refused } from "./refused";

const KINDS: Record<string, string> = { UeIpv4: "IPv4", UeIpv6: "IPv6", NatedIp: "NATed", GtpTeid: "TEID" };

export function NetworkView() {
  const { value, refusal } = useTopic<Network>("network");
  if (!value) return <Refused why={refusal} />;
  const { cells, omittedCells, ues, omittedUes } = value;
  const percent = (of: number | null): string => (of === null ? "–" : `${of} %`);
  return (
    <>
      <Refused why={refusal} />
      <dl class="figures">
        <Figure name="Cells">{cells.length + omittedCells}</Figure>
        <Figure name="UEs">{ues.length + omittedUes}</Figure>
      </dl>
      <h3>Cells</h3>
      {cells.length === 0 ? <Empty>No cell is known.</Empty> : null}
      {cells.length > 0 ? (
        <Table label="Cells" head={["Cell", "PLMN", "UEs", "PRBs, downlink", "PRBs, uplink"]}>
          {cells.map((of) => (
            <tr key={`${of.plmn}-${of.cell}`}>
              <th scope="row">{of.cell}</th>
              <td>{of.plmn}</td>
              <td class="number">{of.ues}</td>
              <td class="number">{percent(of.prbDlPercent)}</td>
              <td class="number">{percent(of.prbUlPercent)}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      {omittedCells > 0 ? <p class="unit">{omittedCells} more.</p> : null}
      <h3>UEs</h3>
      {ues.length === 0 ? <Empty>No UE is known.</Empty> : null}
      {ues.length > 0 ? (
        <Table label="UEs" head={["UE", "Cell", "Bearers", "Identities"]}>
          {ues.map((of) => (
            <tr key={of.name}>
              <th scope="row">{of.name}</th>
              <td>{of.cell ?? "–"}</td>
              <td class="number">{of.bearers}</td>
              <td>{of.ids.map(({ kind, value: id }) => `${KINDS[kind] ?? kind} ${id}`).join(", ") || "none"}</td>
            </tr>
          ))}
        </Table>
      ) : null}
      {omittedUes > 0 ? <p class="unit">{omittedUes} more.</p> : null}
    </>
  );
}
