// A message as a tree: of E2AP or of a service model.

import { useState } from "preact/hooks";
import { reasonOf, request } from "kit/api";
import { useResource } from "kit/hooks";
import { Tree } from "kit/tree";
import { Empty, Refusal } from "kit/parts";

export function DecodeView() {
  const types = useResource<{ types: string[] }>("/v1/decode/types", 3_600_000);
  const [type, setType] = useState("e2ap");
  const [octets, setOctets] = useState("");
  const [decoded, setDecoded] = useState<{ value: unknown }>();
  const [refusal, setRefusal] = useState("");
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const { message } = await request<{ message: unknown }>("POST", "/v1/decode", { type: type.trim(), octets });
      setDecoded({ value: message });
      setRefusal("");
    } catch (thrown) {
      setDecoded(undefined);
      setRefusal(reasonOf(thrown));
    }
  };
  if (types.problem?.status === 404) return <Empty>This RIC was built without the decoder.</Empty>;
  return (
    <>
      <Refusal problem={types.problem} />
      <form class="decode" onSubmit={(event) => void submit(event)}>
        <label>
          Type: e2ap, or one of a service model
          <input list="types" required value={type} spellcheck={false} onInput={(event) => setType(event.currentTarget.value)} />
        </label>
        <datalist id="types">
          {(types.value?.types ?? []).map((of) => (
            <option key={of} value={of} />
          ))}
        </datalist>
        <label>
          Octets in hexadecimal digits
          <textarea
            required
            rows={5}
            spellcheck={false}
            value={octets}
            placeholder="00 01 00 …"
            onInput={(event) => setOctets(event.currentTarget.value)}
          />
        </label>
        <button type="submit">Decode</button>
      </form>
      {refusal ? (
        <p class="problem" role="alert">
          {refusal}
        </p>
      ) : null}
      {decoded ? (
        <div class="tree" role="region" aria-label="The decoded message" tabIndex={0}>
          <Tree name="message" value={decoded.value} />
        </div>
      ) : null}
    </>
  );
}
