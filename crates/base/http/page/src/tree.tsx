// JSON as a tree that opens and closes.

/** The most members of a list that are shown. */
const MAX_MEMBERS = 500;

export function Tree({ name, value, depth = 0 }: { name: string; value: unknown; depth?: number }) {
  if (value === null || typeof value !== "object") {
    return (
      <div class="leaf">
        {name ? <span class="name">{name}: </span> : null}
        <span class="value">{JSON.stringify(value)}</span>
      </div>
    );
  }
  const members = Array.isArray(value) ? value.map((of, place): [string, unknown] => [String(place), of]) : Object.entries(value);
  return (
    <details class="branch" open={depth < 4}>
      <summary>
        <span class="name">{name}</span> <span class="unit">{Array.isArray(value) ? `${members.length} items` : ""}</span>
      </summary>
      <div class="children">
        {members.slice(0, MAX_MEMBERS).map(([of, member]) => (
          <Tree key={of} name={of} value={member} depth={depth + 1} />
        ))}
        {members.length > MAX_MEMBERS ? <div class="unit">{members.length - MAX_MEMBERS} more</div> : null}
      </div>
    </details>
  );
}
