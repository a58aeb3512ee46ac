import { createRandom } from "../random";
import type { Authorities } from "./authorities";
import type { Certitude } from "./certitude";
import type { Host } from "./host";

/** What is done to the installation, and when; all in seconds since the last order was placed. */
export type Disruptions = {
  kills: number[];
  outages: { at: number; seconds: number }[];
  fullDisk?: { at: number; seconds: number };
  /** How far the clock is put ahead meanwhile. */
  clock?: { at: number; seconds: number; ahead: number };
};
/** In milliseconds of the epoch. */
export type Band = { what: "server killed" | "CA away" | "disk full" | "clock ahead"; of: string; from: number; to: number };
type Disrupted = { certitude: Certitude; authorities: Authorities; hosts: Host[] };

const DOWN_SECONDS = { least: 0.2, most: 4 };

/** Does all of it. Resolves once everything works again; `bands` hold what has begun. */
export function startDisruptions(
  { kills, outages, fullDisk, clock }: Disruptions,
  { certitude, authorities, hosts }: Disrupted,
  seed: number,
  say: (line: string) => void,
) {
  const random = createRandom(seed);
  const [began, bands] = [performance.now(), [] as Band[]];
  const until = (at: number) => Bun.sleep(Math.max(at * 1_000 - (performance.now() - began), 0));

  async function during(what: Band["what"], of: string, work: () => Promise<void>) {
    const band: Band = { what, of, from: Date.now(), to: Number.NaN };
    bands.push(band);
    await work();
    band.to = Date.now();
    say(`${new Date(band.from).toISOString()} ${what} for ${((band.to - band.from) / 1_000).toFixed(1)} s: ${of}`);
  }

  async function killServer() {
    for (const at of kills) {
      await until(at);
      await during("server killed", "Certitude", async () => {
        await certitude.kill();
        await Bun.sleep(random.between(DOWN_SECONDS.least, DOWN_SECONDS.most) * 1_000);
        await certitude.start();
      });
    }
  }

  async function sendAway() {
    for (const { at, seconds } of outages) {
      await until(at);
      await during("CA away", "Pebble", async () => {
        await authorities.sendAway();
        await Bun.sleep(seconds * 1_000);
        await authorities.bringBack();
      });
    }
  }

  async function fillDisk() {
    const host = hosts.find(({ kind }) => kind === "nginx");
    if (!fullDisk || !host) return;
    await until(fullDisk.at);
    await during("disk full", host.kind, async () => {
      host.fillUp();
      await Bun.sleep(fullDisk.seconds * 1_000);
      host.makeRoom();
    });
  }

  async function putClockAhead() {
    const host = hosts.find(({ kind }) => kind === "haproxy");
    if (!clock || !host) return;
    await until(clock.at);
    await during("clock ahead", host.kind, async () => {
      host.setClock(clock.ahead);
      await Bun.sleep(clock.seconds * 1_000);
      host.setClock(0);
    });
  }

  return { bands, over: Promise.all([killServer(), sendAway(), fillDisk(), putClockAhead()]) };
}
