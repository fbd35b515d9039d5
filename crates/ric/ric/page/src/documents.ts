// The documents of the RIC's REST interface, as far as the page reads them: /v1/openapi.json describes them.

export interface NodeSummary {
  id: string;
  e2ap: string;
  ues: number;
  has_slices: boolean;
}

export interface NodeDetails extends NodeSummary {
  functions: { id: number; revision: number; oid: string }[];
  sources: {
    model: string;
    function: number;
    wire: string;
    state: string;
    reason?: string;
    reports: number;
    undecodable: number;
  }[];
}

export interface BaseStation {
  id: string;
  is_complete: boolean;
  nodes: { id: string; part: string }[];
  cells: { id: string; node: string }[];
  missing: string[];
}

export interface Ue {
  id: number;
  ue: string | null;
  references: string[];
  base_station: string | null;
  rnti?: number;
  cell?: string;
  s_nssais?: { sst: number; sd?: string }[];
  ip?: string[];
  slices?: { dl: number | null; ul: number | null };
  nodes: { node: string | null; ids: Record<string, unknown> }[];
}

export interface Slice {
  id: number;
  label: string;
  ue_scheduler: string;
  share_percent?: number;
  rate?: { required_mbps: number; reference_mbps: number };
  positions?: { first: number; last: number };
}

export interface Direction {
  algorithm: string;
  sharing?: boolean;
  slices: Slice[];
}

export interface TrafficControl {
  timestamp_us: number;
  scheduler: { kind?: string };
  pacer: { kind: string; rate_kbps: number | null };
  classifier: { kind: string };
  filters: { id: number; queue_id: number; queue_forwarded_packets: number }[];
  queues: {
    id: number;
    kind: string;
    octets: number;
    packets: number;
    forwarded_packets: number;
    dropped_packets: number;
    mean_sojourn_us: number | null;
    last_sojourn_us: number;
  }[];
}

export interface Subscription {
  id: number;
  node: string | null;
  function: number;
  state: string;
  actions: number;
  apps: string[];
  indications: number;
  indication_octets: number;
  dropped_reports: number;
  newest_age_ms: number | null;
}

export interface Xapp {
  name: string;
  number: number;
  subscriptions: number[];
  requests: number;
  outbox_octets: number;
  dropped_reports: number;
}

export interface Cell {
  id: string;
  base_station: string;
  node: string | null;
  administrative_state: "locked" | "shutting_down" | "unlocked" | null;
  cell_state: "idle" | "inactive" | "active" | null;
  is_energy_saving: boolean | null;
}

export interface NodeMessage {
  time_ms: number;
  direction: "from_node" | "to_node";
  message: string | null;
  procedure: number | null;
  transaction: number | null;
  request: [number, number] | null;
  function: number | null;
  octets: number;
  type: string;
  pdu: string | null;
  omitted: number;
}

export interface Alarm {
  managedObjectId: string;
  applicationId: string;
  specificProblem: number;
  perceivedSeverity: string;
  additionalInfo: string;
  identifyingInfo: string;
  /** In nanoseconds of Unix time. */
  AlarmTime: number;
  alarmText: string;
  operationInstructions: string;
}
