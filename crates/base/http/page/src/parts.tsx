// What several views of a page share.

import type { ComponentChildren } from "preact";
import type { Problem } from "./api";

/** Why a resource cannot be read, if it cannot. */
export function Refusal({ problem }: { problem: Problem | undefined }) {
  return problem && problem.status !== 0 ? (
    <p class="problem" role="alert">
      {problem.message}
    </p>
  ) : null;
}

/** What is shown where there is nothing. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

/** A choice with a label. */
export function Choice<T extends string | number>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
}) {
  const changed = (text: string): void => {
    const found = options.find(([option]) => String(option) === text);
    if (found) onChange(found[0]);
  };
  return (
    <label class="choice">
      {label}
      <select value={String(value)} onChange={(event) => changed(event.currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={String(option)}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A figure with its name. */
export function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A table that scrolls within itself on narrow screens; the keyboard scrolls it too. */
export function Table({ label, head, children }: { label: string; head: string[]; children: ComponentChildren }) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {head.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
