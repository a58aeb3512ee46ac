import { type Command, InvalidArgumentError } from "commander";
import { migrate } from "../db/migrate";
import { mintToken } from "../guards/mint-token";
import { isUuid } from "../http/schema";
import { grantPlatformAdmin, saveUser } from "../modules/users/queries";
import { CommandError, readConfigOrExit, withDatabase } from "./environment";

type Options = { user: string; email?: string; staff?: boolean; ttl: number };

export const addToken = (program: Command) =>
  program
    .command("token")
    .description("Print a user token for local use. Only with JWT_SECRET, not with an identity provider.")
    .option("--user <uuid>", "user id; a new one by default", readUserId, crypto.randomUUID())
    .option("--email <address>", "e-mail address in the token")
    .option("--staff", "make the user a platform admin too")
    .option("--ttl <duration>", "how long it is valid: 90s, 15m, 8h, 30d", readDuration, 3_600)
    .action(async ({ user, email, staff = false, ttl }: Options) => {
      const config = readConfigOrExit();
      const token = await mintToken({ config }, { user, email, ttl });
      if (!token) throw new CommandError("There is no JWT_SECRET: the identity provider of OIDC_ISSUER signs the tokens.");
      if (staff)
        await withDatabase(async ({ $client: sql }) => {
          await migrate(sql);
          await saveUser(sql, { userId: user, email: email ?? null, name: null });
          await grantPlatformAdmin(sql, user, true);
        });
      console.info(token);
    });

function readUserId(value: string) {
  if (!isUuid(value)) throw new InvalidArgumentError("It must be a UUID.");
  return value.toLowerCase();
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Seconds. */
export function readDuration(value: string) {
  const [, amount, unit = "s"] = /^([1-9]\d{0,6})([smhd])?$/.exec(value) ?? [];
  if (amount === undefined) throw new InvalidArgumentError("It must be a duration such as 90s, 15m, 8h or 30d.");
  return Number(amount) * (SECONDS[unit] ?? 1);
}
