import { Webhook } from "standardwebhooks";
import { call, type Wish } from "../../../support/server/call";
import { newOrganization, type TestOrganization } from "../../../support/server/people";

const INGEST = "/ai-governance/ingest";

export const pathOf = ({ id }: { id: string }) => `/organizations/${id}${INGEST}/metrics`;
export const sample = (more: object = {}) => ({ metric: "accuracy", value: 0.93, recordedAt: "2026-01-02T09:30:00.000Z", ...more });
export const batch = (...samples: object[]) => ({ system: "loan-scoring", samples: samples.length > 0 ? samples : [sample()] });

export async function newKey(organization: TestOrganization, name = "Collectors"): Promise<{ id: string; name: string; key: string }> {
  return (await organization.admin("POST", `${INGEST}/keys`, { body: { name } })).body;
}

/** A delivery whose signature the library of Standard Webhooks made; `sent` replaces what travels. */
export function deliver(organization: { id: string }, key: string, body: unknown, { id = crypto.randomUUID(), at = new Date(), sent = {} }: Delivery = {}) {
  const raw = JSON.stringify(body);
  const signature = new Webhook(key).sign(id, at, raw);
  const headers = { "webhook-id": id, "webhook-timestamp": `${Math.floor(at.getTime() / 1_000)}`, "webhook-signature": signature };
  return call("POST", pathOf(organization), { raw, ...sent, headers: { "content-type": "application/json", ...headers, ...sent.headers } });
}
type Delivery = { id?: string; at?: Date; sent?: Wish };

/** An organization with a key; `send` posts as its sender, `signed` with a signature. */
export async function newSender() {
  const organization = await newOrganization();
  const { key } = await newKey(organization);
  const send = (body: unknown, headers: Record<string, string> = {}) => call("POST", pathOf(organization), { body, token: key, headers });
  const signed = (body: unknown, delivery: Delivery = {}) => deliver(organization, key, body, delivery);
  return { organization, key, send, signed };
}

/** Everything that is stored of a metric. */
export async function read(organization: TestOrganization, metric = "accuracy") {
  const range = "from=2025-06-01T00:00:00Z&to=2027-06-01T00:00:00Z&step=P30D";
  const { body } = await organization.member("GET", `/ai-governance/metrics?system=loan-scoring&metric=${metric}&${range}`);
  return body.items as { at: string; min: number; max: number; mean: number; count: number }[];
}

export const countOf = async (organization: TestOrganization, metric?: string) => (await read(organization, metric)).reduce((sum, each) => sum + each.count, 0);
