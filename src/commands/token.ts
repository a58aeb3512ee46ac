import { type Command, Option } from "commander";
import { decodeJwt } from "jose";
import { mintToken } from "#auth/mint-token";
import { addPlatformEvent } from "#modules/people/audit/queries";
import { spoolPlatformEvent } from "#modules/people/audit/services/spool";
import { grantPlatformAdmin, saveUser } from "#modules/people/users/queries";
import { readDuration, readUuid } from "./arguments";
import { CommandError } from "./command-error";
import { readConfigOrExit, withStamps } from "./environment";

const BY = { actor: { type: "command-line" as const }, requestId: null };

type Options = { user: string; email?: string; staff?: boolean; ttl: number };

export const addToken = (program: Command) =>
  program
    .command("token")
    .description("Print a user token for local use. Only with JWT_SECRET, not with an identity provider.")
    .addOption(new Option("--user <uuid>", "user id").argParser(readUuid).default(crypto.randomUUID(), "a new one"))
    .option("--email <address>", "e-mail address in the token")
    .option("--staff", "make the user a platform admin too")
    .addOption(new Option("--ttl <duration>", "how long it is valid: 90s, 15m, 8h, 30d").argParser(readDuration).default(3_600, "1h"))
    .action(async ({ user, email, staff = false, ttl }: Options) => {
      const config = readConfigOrExit();
      const token = await mintToken({ config }, { user, email, ttl });
      if (!token) throw new CommandError("There is no JWT_SECRET: the identity provider of OIDC_ISSUER signs the tokens.");
      const minted = { action: "user-token.minted", targetType: "user", targetId: user, details: { email, staff, expiresAt: expiryOf(token) } };
      if (!staff && !config.databaseUrl) spoolPlatformEvent(config.dataDir, BY, minted);
      else
        await withStamps(async (sql, stamps) => {
          if (staff) await saveUser(sql, { userId: user, email: email ?? null, name: null });
          if (staff) await grantPlatformAdmin(sql, stamps, user, true);
          await addPlatformEvent(sql, BY, minted);
        });
      console.info(token);
    });

const expiryOf = (token: string) => new Date((decodeJwt(token).exp ?? 0) * 1_000).toISOString();
