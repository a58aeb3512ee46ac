import { prepareJobs, runQueuedJobs } from "#jobs/start";
import { createLog } from "#log/log";
import { type MailSettings, readMailSettings } from "#mail/settings";
import { startServer, world } from "./world";

export function mailSettings(url: string): MailSettings {
  const settings = readMailSettings({ url, from: "Certitude <certitude@example.org>", publicUrl: "https://certitude.example" }, (sentence) => {
    throw new Error(sentence);
  });
  if (!settings) throw new Error("The test names no mail server.");
  return settings;
}

/** A server on the database of the tests that sends to a mail server, once `run` lets its jobs run; `lines` is its log. */
export async function startMailing(smtpUrl: string) {
  const lines: string[] = [];
  const log = createLog("debug", { write: (line) => void lines.push(line) });
  const config = { ...world.config, publicUrl: "https://certitude.example", mail: mailSettings(smtpUrl) };
  const { deps, app, server, url } = startServer(config, world.database, undefined, log);
  await prepareJobs(deps);
  async function stop() {
    await deps.queue.stop();
    deps.mail?.close();
    await server.stop(true);
  }
  /** Waits until a mail waits for another attempt, and lets that be made at once, as the last one if `isLast`. */
  async function hurry({ isLast = false } = {}) {
    const retry = () => deps.sql`
      update pgboss.job set start_after = now(), retry_count = case when ${isLast} then retry_limit else retry_count end where name = 'send-mail' and state = 'retry'`;
    while ((await retry()).count === 0) await Bun.sleep(10);
    deps.queue.wake("send-mail");
  }
  /** Waits for a line of the log. */
  async function says(message: string, count = 1) {
    for (;;) {
      const found = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message);
      if (found.length >= count) return found;
      await Bun.sleep(10);
    }
  }
  return { deps, url, lines, run: () => runQueuedJobs(deps, app.handle), stop, hurry, says };
}
