import { useSignal } from "@preact/signals";
import type { ProviderKey } from "#modules/issuance/dns/rules/providers";
import { inOrganization } from "../../api";
import { Choice } from "../../parts/choice";
import { entriesOf } from "../../parts/entries";
import { Form, type Values } from "../../parts/form";
import { Select } from "../../parts/select";
import { dnsChallengeOf, issuerDefaults, issuerFields, PROOFS, PROVIDERS, proofOf, readIssuer } from "./issuer-fields";
import { type Issuer, KINDS } from "./types";

type Props = {
  /** The issuer that is changed; without one, a new one is made. */
  of?: Issuer;
  submit: string;
  onSubmit: (issuer: ReturnType<typeof readIssuer> & { kind: Issuer["kind"] }) => Promise<unknown>;
};

/** The kind, the proof and the DNS provider say which fields there are. */
export function IssuerForm({ of, submit, onSubmit }: Props) {
  const kind = useSignal<Issuer["kind"] | "">(of?.kind ?? "");
  const proof = useSignal(of ? proofOf(of) : "http");
  const dns = of && dnsChallengeOf(of);
  const provider = useSignal<ProviderKey | "">(dns?.provider ?? "");
  const authorityId = useSignal(String(of?.config.authorityId ?? ""));
  const choice = kind.value === "" ? undefined : { kind: kind.value, proof: proof.value, provider: provider.value };
  const values: Values = { ...(choice && issuerDefaults(choice)), ...of?.config, ...dns, name: of?.name };
  const isReady = choice?.kind === "internal" ? authorityId.value !== "" : choice?.proof === "http" || choice?.provider;
  return (
    <div class="form">
      {!of && <Select label="Kind" chosen={kind} options={entriesOf(KINDS)} />}
      {choice?.kind === "internal" && (
        <Choice
          label="Authority"
          path={inOrganization("authorities")}
          chosen={authorityId}
          option={({ id, name, status }) => ({ id, name: `${name} (${status})` })}
        />
      )}
      {choice?.kind === "acme" && <Select label="Proof of names" chosen={proof} options={entriesOf(PROOFS)} />}
      {choice?.kind === "acme" && choice.proof !== "http" && (
        <Select label="DNS provider" chosen={provider} options={PROVIDERS.map(({ key, name }) => [key, name] as const)} />
      )}
      {choice && isReady && (
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
