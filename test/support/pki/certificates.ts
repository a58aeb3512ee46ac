import { type Minted, mint } from "#demo/mint";
import type { TestOrganization } from "../server/people";

const DAY = 86_400_000;

/** A moment so many days from now, to the second, as certificates keep it. */
export const inDays = (days: number) => new Date(Math.floor((Date.now() + days * DAY) / 1000) * 1000);

type Wish = { commonName?: string; days?: number; from?: number; isCa?: boolean; dns?: string[]; issuer?: Minted; key?: Pick<Minted, "privateKey"> };

/** A fresh certificate, valid from yesterday for `days` days. */
export const certificate = ({ commonName = `${crypto.randomUUID()}.example`, days = 90, from = -1, ...rest }: Wish = {}) =>
  mint({ commonName, notBefore: inDays(from), notAfter: inDays(days), ...rest });

export function chain() {
  const root = certificate({ commonName: "Test Root", isCa: true, days: 900 });
  const intermediate = certificate({ commonName: "Test Issuing CA", isCa: true, issuer: root, days: 300 });
  const leaf = certificate({ issuer: intermediate, days: 30 });
  return { root, intermediate, leaf };
}

/** Imports the certificates and answers their ids, in order. */
export async function importInto(organization: TestOrganization, ...pems: string[]): Promise<string[]> {
  const { status, body } = await organization.admin("POST", "/certificates", { body: { pem: pems.join("\n") } });
  if (status !== 201) throw new Error(`the import answered ${status}: ${JSON.stringify(body)}`);
  return body.imported.map((each: { id: string }) => each.id);
}
