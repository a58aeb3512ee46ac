import { useSignal } from "@preact/signals";
import { inOrganization } from "../../api";
import { Choice } from "../../parts/choice";
import { Form, type Values } from "../../parts/form";
import { Select } from "../../parts/select";
import { dnsChallengeOf, issuerDefaults, issuerFields, PROOFS, PROVIDERS, type Proof, proofOf, readIssuer } from "./issuer-fields";
import { type Authority, type Issuer, KINDS } from "./types";

type Props = {
  /** What is changed; a new one otherwise. */
  of?: Issuer;
  submit: string;
  onSubmit: (issuer: ReturnType<typeof readIssuer> & { kind: Issuer["kind"] }) => Promise<unknown>;
};

/** The kind, the proof and the DNS provider say which fields there are. */
export function IssuerForm({ of, submit, onSubmit }: Props) {
  const kind = useSignal<string>(of?.kind ?? "");
  const proof = useSignal<string>(of ? proofOf(of) : "http");
  const dns = of && dnsChallengeOf(of);
  const provider = useSignal<string>(dns?.provider ?? "");
  const authorityId = useSignal(String(of?.config.authorityId ?? ""));
  const choice = { kind: kind.value, proof: proof.value, provider: provider.value } as Parameters<typeof readIssuer>[0];
  const values: Values = { ...(choice.kind && issuerDefaults(choice)), ...of?.config, ...dns, name: of?.name };
  const isReady = choice.kind === "internal" ? authorityId.value !== "" : choice.kind === "acme" && (choice.proof === "http" || choice.provider !== "");
  return (
    <div class="form">
      {!of && <Select label="Kind" chosen={kind} options={Object.entries(KINDS)} />}
      {choice.kind === "internal" && (
        <Choice<Authority>
          label="Authority"
          path={inOrganization("authorities")}
          chosen={authorityId}
          option={({ id, name, status }) => ({ id, name: `${name} (${status})` })}
        />
      )}
      {choice.kind === "acme" && <Select label="Proof of names" chosen={proof} options={Object.entries(PROOFS) as [Proof, string][]} />}
      {choice.kind === "acme" && choice.proof !== "http" && (
        <Select label="DNS provider" chosen={provider} options={PROVIDERS.map(({ key, name }) => [key, name] as const)} />
      )}
      {isReady && (
        <Form
          key={JSON.stringify(choice)}
          submit={submit}
          values={values}
          fields={issuerFields(choice, of?.secretNames)}
          onSubmit={(given) => onSubmit({ kind: choice.kind, ...readIssuer(choice, given, authorityId.value) })}
        />
      )}
    </div>
  );
}
