import type { Config } from "#config";
import type { Sql } from "#db/connect";
import { findUnnamed } from "../queries";
import { domainOf } from "../rules";
import { ownNames } from "./own-names";

/**
 * Returns a warning where several organizations share the server and staff has named none for its domains; undefined where
 * nothing is to be done.
 */
export async function findSharedDomain(sql: Sql, config: Pick<Config, "publicUrl" | "tls">) {
  const domains = [...new Set(ownNames(config).map(domainOf))];
  const unnamed = await findUnnamed(sql, domains);
  if (!unnamed) return;
  if (domains.length === 0)
    return "Several organizations share this server, and it does not know its name, which any of them could prove by http-01. Set PUBLIC_URL.";
  if (unnamed.length > 0)
    return `Several organizations share this server, and none is named for ${unnamed.join(", ")}, so none proves its names by http-01. PUT /admin/domains/{domain} names one.`;
}
