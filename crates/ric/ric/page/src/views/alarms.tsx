// The active alarms.

import type { Alarm } from "../documents";
import { useResource } from "kit/hooks";
import { Empty, Figure, Refusal, Table } from "kit/parts";

/** The most alarms that are shown. */
const MAX_ROWS = 200;
/** The severities, the worst first. */
const SEVERITIES = ["CRITICAL", "MAJOR", "MINOR", "WARNING"];

export function AlarmsView() {
  const alarms = useResource<Alarm[]>("/ric/v1/alarms/active", 1000);
  const all = [...(alarms.value ?? [])].sort((a, b) => rankOf(a) - rankOf(b) || b.AlarmTime - a.AlarmTime);
  return (
    <>
      <Refusal problem={alarms.problem} />
      <dl class="figures">
        {SEVERITIES.map((severity) => (
          <Figure key={severity} name={wordOf(severity)}>
            {all.filter((alarm) => alarm.perceivedSeverity === severity).length}
          </Figure>
        ))}
      </dl>
      {alarms.value && all.length === 0 ? <Empty>No alarm is active.</Empty> : null}
      {all.length > 0 ? (
        <Table label="Active alarms" head={["Severity", "Object", "Since", "Text", "Raised by"]}>
          {all.slice(0, MAX_ROWS).map((alarm) => (
            <tr key={keyOf(alarm)}>
              <td class={rankOf(alarm) < 2 ? "bad" : ""}>{wordOf(alarm.perceivedSeverity)}</td>
              <th scope="row">{alarm.identifyingInfo || alarm.managedObjectId}</th>
              <td>
                <time>{new Date(alarm.AlarmTime / 1e6).toLocaleString()}</time>
              </td>
              <td class="prose">
                {alarm.alarmText}
                {alarm.additionalInfo ? `: ${alarm.additionalInfo}` : ""}
                {alarm.operationInstructions ? <div class="unit">{alarm.operationInstructions}</div> : null}
              </td>
              <td>
                {alarm.managedObjectId}/{alarm.applicationId} {alarm.specificProblem}
              </td>
            </tr>
          ))}
        </Table>
      ) : null}
      {all.length > MAX_ROWS ? <p class="unit">{all.length - MAX_ROWS} more.</p> : null}
    </>
  );
}

function rankOf(alarm: Alarm): number {
  const at = SEVERITIES.indexOf(alarm.perceivedSeverity);
  return at < 0 ? SEVERITIES.length : at;
}

function wordOf(severity: string): string {
  return severity.charAt(0) + severity.slice(1).toLowerCase();
}

/** Two alarms with the same object, application, problem and identifying text are the same one. */
function keyOf({ managedObjectId, applicationId, specificProblem, identifyingInfo }: Alarm): string {
  return JSON.stringify([managedObjectId, applicationId, specificProblem, identifyingInfo]);
}
