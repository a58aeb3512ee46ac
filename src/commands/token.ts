import { type Command, Option } from "commander";
import { decodeJwt } from "jose";
import { mintToken } from "#auth/mint-token";
import { spoolPlatformEvent } from "#modules/people/audit/services/spool";
import { readDuration, readUuid } from "./arguments";
import { CommandError } from "./command-error";
import { administer, readConfigOrExit } from "./environment";

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
    .addHelpText("after", "\nEach one is an event of the platform's audit trail.")
    .action(async ({ user, email, staff = false, ttl }: Options) => {
      const config = readConfigOrExit();
      const token = await mintToken({ config }, { user, email, ttl });
      if (!token) throw new CommandError("There is no JWT_SECRET: the identity provider of OIDC_ISSUER signs the tokens.");
      const minted = { action: "user-token.minted", targetType: "user", targetId: user, details: { email, staff, expiresAt: expiryOf(token) } };
      if (staff) await administer("add-staff", { userId: user, email: email ?? null, event: minted });
      else if (config.databaseUrl) await administer("note-event", { event: minted });
      else spoolPlatformEvent(config.dataDir, BY, minted); // also where no server ever ran: its database is not made for this
      console.info(token);
    });

const expiryOf = (token: string) => new Date((decodeJwt(token).exp ?? 0) * 1_000).toISOString();
