import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { inOrganization, read } from "../../api";
import { Failure } from "../../parts/empty";
import { link } from "../../router";
import { issuerName } from "./list";
import { Standing } from "./standing";
import type { Certificate } from "./types";

/** Of a chain; a loop in what was imported ends here too. */
const MAX_DEPTH = 10;

/** From the root down to the certificate, as far as the organization knows the issuers. */
export function Chain({ of }: { of: Certificate }) {
  const chain = useSignal<Certificate[]>([of]);
  const error = useSignal<Error | undefined>(undefined);
  useEffect(() => {
    readChain(of).then(
      (known) => {
        chain.value = known;
      },
      (failure) => {
        error.value = failure;
      },
    );
  }, [of]);
  if (error.value) return <Failure error={error.value} />;
  const top = chain.value[0];
  return (
    <ol class="chain">
      {top && !top.selfSigned && (
        <li class="unknown">
          <span>{issuerName(top.issuer)}</span>
          <span class="fine">This issuer is not here: import its certificate to complete the chain.</span>
        </li>
      )}
      {chain.value.map((each) => (
        <li key={each.id} class={each.id === of.id ? "current" : ""}>
          {each.id === of.id ? <b>{each.commonName || each.subject}</b> : <a href={link(`certificates/${each.id}`)}>{each.commonName || each.subject}</a>}
          <span>
            {each.isCa ? (each.selfSigned ? "Root" : "Intermediate") : "Certificate"} <Standing of={each} />
          </span>
        </li>
      ))}
    </ol>
  );
}

async function readChain(from: Certificate) {
  const chain = [from];
  for (let id = from.issuerCertificateId; id !== null && chain.length < MAX_DEPTH && !chain.some((each) => each.id === id); ) {
    const issuer: Certificate = await read(inOrganization("certificates", id));
    chain.unshift(issuer);
    id = issuer.issuerCertificateId;
  }
  return chain;
}
