import { findStored } from "#modules/issuance/issuers/queries/issuers";
import { openIssuer, sealSecrets } from "#modules/issuance/issuers/services/secrets";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { beginOrder, changeKey, findUnclaimed, saveAccount } from "../queries/orders";
import { createAcmeDriver, type Keep } from "./driver";
import { createSolvers } from "./solvers";

/** Keeps what outlives a step in the rows of the issuer and of the request. */
const keepIn = ({ sql, config, stamps }: Pick<IssuingDeps, "sql" | "config" | "stamps">): Keep => ({
  saveAccount: (issuer, account) => saveAccount(sql, issuer, account),
  async hasOtherKeys({ organizationId, id, secrets: { accountKeyPem, nextAccountKeyPem } }) {
    const stored = await findStored(sql, organizationId, id);
    const opened = stored && openIssuer({ config, stamps }, stored);
    if (!opened || "fault" in opened) return false;
    return opened.secrets.accountKeyPem !== accountKeyPem || opened.secrets.nextAccountKeyPem !== nextAccountKeyPem;
  },
  beginOrder: (request) => beginOrder(sql, request),
  unclaimed: (request, orderUrls) => findUnclaimed(sql, request, orderUrls),
  changeKey: (issuer, nextKeyPem, account) =>
    sql.begin(async (tx) => {
      const stored = await findStored(tx, issuer.organizationId, issuer.id, true);
      const opened = stored && openIssuer({ config, stamps }, stored);
      if (!opened || "fault" in opened || opened.secrets.nextAccountKeyPem !== nextKeyPem) return; // changed by an admin, or by another server
      const { nextAccountKeyPem: _, ...others } = opened.secrets;
      const secrets = { ...others, accountKeyPem: nextKeyPem };
      await changeKey(tx, issuer, { names: Object.keys(secrets), sealed: sealSecrets(config.keyring, secrets, issuer), account });
    }),
});

/** The ACME driver of this server. */
export const acmeDriver = (deps: IssuingDeps) =>
  createAcmeDriver({ allowPrivate: deps.config.allowPrivateTargets, clock: deps.clock, keep: keepIn(deps), solvers: createSolvers(deps) });
