// The frame of a page: which view is shown, the state of the connection, and the dialog for a token.

import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Connection, serviceName, useToken } from "./api";
import { useConnection, useFragment } from "./hooks";

/** A view: its name in the address, its title, and what draws it. */
export interface View {
  name: string;
  title: string;
  View: ComponentType;
}

const STATES: Record<Connection, string> = {
  connecting: "connecting",
  connected: "connected",
  lost: "not connected: trying again",
  token: "a token is required",
};

/** The page with its views; the first one is shown where the address names none. `roles` says what a token allows. */
export function Frame({ title, views, roles }: { title: string; views: View[]; roles: ComponentChildren }) {
  const connection = useConnection();
  const fragment = useFragment();
  const shown = views.find((view) => view.name === fragment) ?? views[0]!;
  useEffect(() => {
    document.title = `${shown.title} – ${title}`;
  }, [shown]);
  const { View } = shown;
  return (
    <>
      <header>
        <h1>{title}</h1>
        <p class={`connection ${connection}`} role="status">
          {STATES[connection]}
        </p>
        <nav aria-label="Views">
          <ul>
            {views.map((view) => (
              <li key={view.name}>
                <a href={`#${view.name}`} aria-current={view === shown ? "page" : undefined}>
                  {view.title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <main>
        {connection === "token" ? <TokenForm roles={roles} /> : null}
        {connection === "token" ? null : (
          <>
            <h2>{shown.title}</h2>
            <View key={shown.name} />
          </>
        )}
      </main>
    </>
  );
}

/** Asks for a token. */
function TokenForm({ roles }: { roles: ComponentChildren }) {
  const [given, setGiven] = useState("");
  const [refusal, setRefusal] = useState("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const isAccepted = await useToken(given.trim());
    setRefusal(isAccepted ? "" : `The ${serviceName()} does not accept this token.`);
  };
  return (
    <form class="token" onSubmit={submit}>
      <h2>Token</h2>
      <p>
        This {serviceName()} requires a token. It stays in the memory of this tab, until the tab is closed. {roles}
      </p>
      <label>
        Token
        <input
          type="password"
          autocomplete="off"
          required
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Connect</button>
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
    </form>
  );
}
