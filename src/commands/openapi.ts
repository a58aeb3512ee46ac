import type { Command } from "commander";
import { createApp } from "#app";
import { readConfig } from "#config";
import { connectDatabase } from "#db/connect";
import { createDeps } from "#deps";
import { createLog } from "#log/log";

/** Any will do: the document asks neither a database nor a secret. */
const UNUSED_ENVIRONMENT = { DATABASE_URL: "postgres://localhost/none", JWT_SECRET: "x".repeat(32), SECRETS_KEY: Buffer.alloc(32).toString("base64") };

export const addOpenapi = (program: Command) =>
  program
    .command("openapi")
    .description("Print the OpenAPI 3.0.3 document.")
    .action(async () => {
      const app = createApp(
        createDeps({ config: readConfig(UNUSED_ENVIRONMENT), db: connectDatabase(UNUSED_ENVIRONMENT.DATABASE_URL), log: createLog("silent") }),
      );
      await app.modules;
      const answer = await app.handle(new Request("http://localhost/swagger/json"));
      console.info(JSON.stringify(await answer.json(), null, 2));
    });
