import { timingSafeEqual } from "node:crypto";
import { Elysia } from "elysia";
import type { Deps } from "../deps";
import { readBody } from "../http/body";
import { Refusal } from "../http/errors";
import { Unauthorized } from "../http/schema";

/** A key may hold what a token may not, such as spaces. */
const bearerKey = ({ headers }: Request) => /^bearer +(.+)$/i.exec(headers.get("authorization")?.trim() ?? "")?.[1];
const digest = (key: string) => new Bun.CryptoHasher("sha256").update(key).digest();

/** A worker of the platform, by one of the shared keys, or this process itself. */
export const worker = ({ config, workerKey }: Pick<Deps, "config" | "workerKey">) => {
  const keys = [...config.workerApiKeys, workerKey].map(digest);
  return new Elysia({ name: "worker" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["workerKey"]) } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      const given = digest(bearerKey(request) ?? "");
      // Every key is compared, each in constant time.
      if (keys.filter((key) => timingSafeEqual(key, given)).length === 0) throw new Refusal(401);
      return {};
    })
    .onTransform({ as: "scoped" }, readBody);
};
