import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import type { Scope } from "#modules/people/audit/queries";
import { readOne } from "#x509/der";
import { toPem } from "#x509/der-writer";
import { formatName, readName } from "#x509/names";
import { insertAuthority } from "../queries/authorities";
import { requestAuthority } from "./certificates";
import { type Draft, rowOf } from "./draft";

/** A key, and a request for an authority elsewhere: pending until the certificate is there. */
export async function requestFromElsewhere({ sql, config, stamps, clock }: IssuingDeps, scope: Scope, draft: Draft) {
  const pathLength = draft.pathLength ?? null;
  const request = await requestAuthority(draft.key, { ...draft, pathLength });
  const row = {
    ...rowOf(config.keyring, scope.organizationId, draft),
    kind: "issuing" as const,
    parentId: null,
    requestPem: toPem("CERTIFICATE REQUEST", request),
    certificateId: null,
    chainPem: "",
    subject: formatName(readName(readOne(draft.subject))),
    pathLength,
    constraints: draft.constraints ? [draft.constraints] : [],
    notBefore: null,
    notAfter: null,
  };
  return sql.begin((tx) => insertAuthority(tx, stamps, scope, row, clock()));
}
