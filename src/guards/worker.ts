import { Elysia } from "elysia";
import { bearerKey, createKeyCheck } from "#auth/keys";
import type { Deps } from "#deps";
import { readBody } from "#http/body";
import { Refusal } from "#http/errors";
import { Unauthorized } from "#http/schema";

/** A worker of the platform, by one of the shared keys, or this process itself. */
export const worker = ({ config, workerKey }: Pick<Deps, "config" | "workerKey">) => {
  const isWorkerKey = createKeyCheck([...config.workerApiKeys, workerKey]);
  return new Elysia({ name: "worker" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["workerKey"]) } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      if (!isWorkerKey(bearerKey(request))) throw new Refusal(401, "there is no worker key");
      return {};
    })
    .onTransform({ as: "scoped" }, readBody);
};
