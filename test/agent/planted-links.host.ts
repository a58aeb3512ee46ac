import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, lchownSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "#agent/report";
import { desired, desiredServer, newAgentHost } from "../support/agent/agent-host";
import { stateOf } from "../support/agent/observing";
import { startSwapping } from "../support/agent/swapping";
import { newAuthority } from "../support/pki/authority";

setDefaultTimeout(300_000);

const NOBODY = 65_534;
const PASSES = 1_000;

let authority: Awaited<ReturnType<typeof newAuthority>>;
beforeAll(async () => {
  authority = await newAuthority();
});
afterAll(() => authority.remove());

/** A directory of another user, in which one that stores lie in and a link to a directory of root's take each other's place. */
async function newTrap(depth: string, linkOwner: number) {
  const agent = await newAgentHost();
  chmodSync(agent.directory, 0o711);
  const home = agent.pathOf("of-nobody");
  const outside = agent.pathOf("of-root");
  for (const each of [join(home, "real", depth), join(outside, depth)]) mkdirSync(each, { recursive: true });
  for (const each of [home, join(home, "real"), join(home, "real", depth)]) chownSync(each, NOBODY, NOBODY);
  symlinkSync(outside, join(home, "link"));
  lchownSync(join(home, "link"), linkOwner, linkOwner);
  for (const [directory, owner] of [
    [join(home, "real", depth), NOBODY],
    [join(outside, depth), 0],
  ] as const)
    for (const name of ["bundle.pem", "tls.crt", "tls.key"]) {
      writeFileSync(join(directory, name), `precious ${name}\n`, { mode: 0o640 });
      chownSync(join(directory, name), owner, owner);
    }
  const look = () => ({ itself: `${lstatSync(outside).mode} ${lstatSync(outside).uid}`, below: stateOf(outside) });
  return { agent, home, look, place: join(home, "real", depth) };
}

const isRefused = (result: Result) => result?.message?.includes("It is not followed.") === true;

test.each([
  ["another user's link", "", NOBODY],
  ["a link of root's, some directories above the files,", "deep/er", 0],
])("a directory and %s that take each other's place lead nothing out: not written, not given away, not chmodded", async (_, depth, linkOwner) => {
  const { agent, home, look, place } = await newTrap(depth, linkOwner);
  const before = look();
  const leaf = await authority.issueServer("trap.test");
  const items = [
    desired(authority.root, { trustStoreType: "docker_certs_d", config: { trustStorePath: place, alias: "root" } }),
    desired(authority.root, { trustStoreType: "pem_ca_bundle", config: { trustStorePath: join(place, "bundle.pem") } }),
    desiredServer(leaf, { trustStoreType: "nginx_tls", config: { trustStorePath: place, reloadCommand: ["true"] } }),
  ];
  const swapping = await startSwapping(home, "real", "link");
  const seen = { installed: 0, refused: 0 };
  for (let passes = 0; passes < PASSES; passes += items.length)
    for (const item of items) {
      const result = await agent.pass(item);
      seen.installed += result?.state === "installed" ? 1 : 0;
      seen.refused += isRefused(result) ? 1 : 0;
      if (agent.state.records.has(item.id)) await agent.withdraw(item);
    }
  expect(await swapping.stop()).toBeGreaterThan(PASSES);
  expect(look()).toEqual(before);
  expect(Math.min(seen.installed, seen.refused)).toBeGreaterThan(0);
  agent.remove();
});
