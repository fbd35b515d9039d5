// Requests to the service of a page and streams of it. The token stays in the memory of the tab: it is never part of an address.

const TOKEN = "ferric-token";

/** A service with a page. */
export interface Service {
  /** What messages call it. */
  name: string;
  /** A resource that every accepted token may read. */
  probe: string;
}

let service: Service = { name: "service", probe: "/" };

/** Says whose page it is, before the first request. */
export function setService(of: Service): void {
  service = of;
}

/** What messages call the service. */
export function serviceName(): string {
  return service.name;
}

/** The state of the connection to the service. */
export type Connection = "connecting" | "connected" | "lost" | "token";

let connection: Connection = "connecting";
const observers = new Set<() => void>();

export function currentConnection(): Connection {
  return connection;
}

/** Calls `observer` when the state of the connection changes. Returns how to stop. */
export function observeConnection(observer: () => void): () => void {
  observers.add(observer);
  return () => observers.delete(observer);
}

function setConnection(now: Connection): void {
  if (now === connection) return;
  connection = now;
  for (const observer of observers) observer();
}

function token(): string | null {
  return sessionStorage.getItem(TOKEN);
}

/** Uses a token from now on. Returns whether the service accepts it. */
export async function useToken(given: string): Promise<boolean> {
  sessionStorage.setItem(TOKEN, given);
  try {
    await request("GET", service.probe);
    return true;
  } catch (error) {
    if (error instanceof Problem && error.status === 401) sessionStorage.removeItem(TOKEN);
    return false;
  }
}

/** A refusal of the service (RFC 9457), or a failure of the connection (status 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The text of what has been thrown. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

async function send(method: string, path: string, body?: unknown, maxAge_s = 0): Promise<Response> {
  const headers = new Headers();
  if (maxAge_s > 0) headers.set("Cache-Control", `max-age=${maxAge_s}`);
  const bearer = token();
  if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
  if (body !== undefined) headers.set("Content-Type", "application/json");
  let response: Response;
  try {
    response = await fetch(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  } catch {
    setConnection("lost");
    throw new Problem(0, `the ${service.name} does not answer`);
  }
  setConnection(response.status === 401 ? "token" : "connected");
  if (!response.ok) {
    const problem = (await response.json().catch(() => ({}))) as { detail?: string; title?: string };
    throw new Problem(response.status, problem.detail ?? problem.title ?? `status ${response.status}`);
  }
  return response;
}

/** Sends a request and returns the JSON of the answer, `null` if it is empty. Throws a `Problem`. */
export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await send(method, path, body);
  return (response.status === 204 ? null : await response.json()) as T;
}

/** Reads a resource. The answer may be so old, if the service has one from another reader. Throws a `Problem`. */
export async function read<T>(path: string, maxAge_s: number): Promise<T> {
  return (await (await send("GET", path, undefined, maxAge_s)).json()) as T;
}

/** Requests a text. Throws a `Problem`. */
export async function requestText(path: string): Promise<string> {
  return await (await send("GET", path)).text();
}

/** An event of a stream. */
export interface StreamEvent {
  event: string;
  data: Record<string, unknown>;
}

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 4000;

/** Opens a stream by WebSocket, and again when it ends. `onRefused` gets the reason of a refusal. Returns how to close it. */
export function openStream(path: string, onEvent: (event: StreamEvent) => void, onRefused: (why: string) => void): () => void {
  let socket: WebSocket | undefined;
  let timer = 0;
  let delay = FIRST_DELAY_MS;
  let isClosed = false;
  const open = (): void => {
    const bearer = token();
    const protocols = bearer ? ["ferric.v1", `bearer.${base64url(bearer)}`] : ["ferric.v1"];
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`, protocols);
    socket.onopen = () => {
      delay = FIRST_DELAY_MS;
      setConnection("connected");
      onRefused("");
    };
    socket.onmessage = (message) => onEvent(JSON.parse(message.data as string) as StreamEvent);
    socket.onclose = () => {
      if (isClosed) return;
      timer = window.setTimeout(retry, delay);
      delay = Math.min(delay * 2, LONGEST_DELAY_MS);
    };
  };
  // a browser does not say why a handshake was refused: a request does
  const retry = async (): Promise<void> => {
    const why = await refusalOf(path);
    if (isClosed) return;
    if (why === null) return open();
    onRefused(why);
    timer = window.setTimeout(retry, delay);
    delay = Math.min(delay * 2, LONGEST_DELAY_MS);
  };
  open();
  return () => {
    isClosed = true;
    window.clearTimeout(timer);
    socket?.close();
  };
}

/** Why a stream is refused; null if it is not. */
async function refusalOf(path: string): Promise<string | null> {
  const abort = new AbortController();
  try {
    const bearer = token();
    const headers = bearer ? { Authorization: `Bearer ${bearer}` } : undefined;
    const response = await fetch(path, { headers, signal: abort.signal });
    setConnection(response.status === 401 ? "token" : "connected");
    if (response.ok) return null;
    const problem = (await response.json().catch(() => ({}))) as { detail?: string };
    return problem.detail ?? `status ${response.status}`;
  } catch {
    setConnection("lost");
    return `the ${service.name} does not answer`;
  } finally {
    abort.abort();
  }
}

function base64url(text: string): string {
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
