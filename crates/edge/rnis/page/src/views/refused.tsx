// Why a stream is refused.

import { currentConnection } from "kit/api";

/** The reason, unless the connection is lost, which the frame shows. */
export function Refused({ why }: { why: string }) {
  return why && currentConnection() === "connected" ? (
    <p class="problem" role="alert">
      {why}
    </p>
  ) : null;
}
