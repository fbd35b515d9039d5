// The choice of an E2 node.

import { Choice } from "kit/parts";
import type { NodeSummary } from "../documents";

/** The choice of a node. */
export function NodeChoice({ nodes, value, onChange }: { nodes: NodeSummary[]; value: string; onChange: (id: string) => void }) {
  const options = nodes.map((node): [string, string] => [node.id, node.id]);
  return <Choice label="Node" value={value} options={options} onChange={onChange} />;
}
