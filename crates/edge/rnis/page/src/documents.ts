// The events of /rnis/v1/stream, as far as the page reads them.

export interface OfType {
  subscriptionType: string;
  v1: number;
  v2: number;
  events: number;
  notifications: number;
}

export interface Overview {
  timeMs: number;
  types: OfType[];
  delivery: {
    subscriptions: number;
    waiting: number;
    waitingOctets: number;
    inFlight: number;
    queued: number;
    delivered: number;
    dropped: number;
    failures: number;
    retried: number;
    openBreakers: number;
  };
  /** Of the last five seconds. */
  latency: { count: number; p50Us: number; p99Us: number; maxUs: number };
  connections: { http1: number; http2: number; websocket: number };
  broker: string;
  brokerCounts: { published: number; received: number; lost: number; redelivered: number; connections: number; waiting: number };
  sources: { ric: { isConnected: boolean; nodes: number } | null; flexranAgents: number | null };
  cells: number;
  ues: number;
}

export interface Subscription {
  id: number;
  version: string;
  owner: string;
  subscriptionType: string;
  criteria: string;
  callback?: string;
  expiryDeadline?: { seconds: number };
  waiting: number;
  waitingOctets: number;
  delivered: number;
  dropped: number;
  failures: number;
  breaker: "closed" | "open" | "halfOpen";
  isConnected: boolean;
  lastError: string | null;
  p50Us: number;
  p99Us: number;
}

export interface Subscriptions {
  omitted: number;
  subscriptions: Subscription[];
}

export interface Notification {
  timeMs: number;
  subscriptions: number;
  octets: number;
  omitted: number;
  notification: Record<string, unknown> | null;
}

export interface Network {
  cells: { cell: string; plmn: string; ues: number; prbDlPercent: number | null; prbUlPercent: number | null }[];
  omittedCells: number;
  ues: { name: string; ids: { kind: string; value: string }[]; cell: string | null; bearers: number }[];
  omittedUes: number;
}

/** The name of a type without what all have in common: `CellChange`. */
export function shortType(name: string): string {
  return name.replace(/(Subscription|Notification)$/, "");
}
