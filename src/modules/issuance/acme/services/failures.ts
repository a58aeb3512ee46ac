import { describeDocument, isRecord } from "../rules/problems";
import type { Client, Signer } from "./directory";
import { inGroups } from "./groups";
import { type Order, readAuthorization } from "./orders";

/** Authorizations that are read, and failures that are named, at most. */
const MOST_READ = 25;
const MOST_NAMED = 5;

/** Returns why the CA gave the order up: its own error, and those of the challenges that failed. */
export async function describeInvalid(client: Client, signer: Signer, { authorizations, error }: Order) {
  const read = await inGroups(authorizations.slice(0, MOST_READ), (url) => readAuthorization(client, signer, url));
  const failures = read.filter(({ status }) => status === "invalid").map(describeAuthorization);
  const own = failures.length === 0 || error ? [describeDocument(error)] : [];
  return ["The CA gave the order up.", ...own, ...failures.slice(0, MOST_NAMED)].join(" ");
}

function describeAuthorization({ identifier, challenges }: Record<string, unknown>) {
  const failed = Array.isArray(challenges) ? challenges.find((each) => isRecord(each) && each.error) : undefined;
  const name = isRecord(identifier) ? `${identifier.value}`.slice(0, 253) : "A name";
  return `${name} by ${`${failed?.type ?? "no challenge"}`.slice(0, 50)}: ${describeDocument(failed?.error)}`;
}
