import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thisHost } from "#agent/host/host";
import { purge } from "#agent/purge";
import { renderUnit } from "#agent/unit";

setDefaultTimeout(300_000);

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "certitude-purge-"));
});
afterEach(() => rmSync(directory, { recursive: true }));
const pathOf = (...names: string[]) => join(directory, ...names);

/** A host on which an agent has run as a service, and is stopped. */
function prepare() {
  const host = { ...thisHost({ PATH: Bun.env.PATH }), hooks: pathOf("etc/certitude-agent/hooks.d") };
  const places = { stateDirectory: pathOf("state"), policyFile: pathOf("etc/certitude-agent/policy.json"), units: pathOf("units") };
  const command = [
    "/usr/local/bin/certitude-agent",
    "run",
    "--state-dir",
    places.stateDirectory,
    "--interval",
    "60s",
    "--metrics-file",
    pathOf("certitude.prom"),
  ];
  for (const each of [host.hooks, pathOf("state/assignments"), pathOf("state/keys"), pathOf("units/multi-user.target.wants")])
    mkdirSync(each, { recursive: true });
  writeFileSync(pathOf("units/certitude-agent.service"), renderUnit({ command, stateDirectory: places.stateDirectory, writable: [] }));
  symlinkSync(pathOf("units/certitude-agent.service"), pathOf("units/multi-user.target.wants/certitude-agent.service"));
  const id = "6d1f4a0e-98f4-4c6c-8f7e-0a6a3d3f8a11";
  for (const name of ["identity.json", "trusted-key.json", "joining.json", "desired-state.json", "challenges.json", "lock", ".x.certitude-tmp"])
    writeFileSync(pathOf("state", name), "{}");
  for (const name of [`assignments/${id}.json`, `assignments/${id}.json.damaged`, `keys/${id}.json`, `keys/${id}.pem`])
    writeFileSync(pathOf("state", name), "{}");
  for (const each of [places.policyFile, pathOf("certitude.prom")]) writeFileSync(each, "{}");
  return { host, places };
}

test("nothing of the agent's own is left: unit, metrics file, policy, identity, keys and records, and their directories", async () => {
  const { host, places } = prepare();
  const purged = await purge(places, host);
  expect(purged).toEqual(
    ["units/certitude-agent.service", "certitude.prom", "etc/certitude-agent/policy.json", "etc/certitude-agent/hooks.d", "etc/certitude-agent", "state"].map(
      (name) => ({ path: pathOf(name), state: "removed" as const }),
    ),
  );
  expect([readdirSync(directory).toSorted(), readdirSync(pathOf("etc")), readdirSync(pathOf("units"), { recursive: true })]).toEqual([
    ["etc", "units"],
    [],
    ["multi-user.target.wants"],
  ]);
  expect(await purge(places, host)).toEqual([]);
});

test("what is not the agent's own stays, and is named: hooks, files in its directory, another agent's unit", async () => {
  const { host, places } = prepare();
  writeFileSync(join(host.hooks, "50-mine"), "#!/bin/sh\n");
  writeFileSync(pathOf("state/notes.txt"), "mine");
  writeFileSync(pathOf("state/keys/mine.pem"), "mine");
  const other = renderUnit({ command: ["agent", "run", "--state-dir", "/srv/other", "--interval", "60s"], stateDirectory: "/srv/other", writable: [] });
  writeFileSync(pathOf("units/certitude-agent.service"), other);
  const purged = await purge(places, host);
  expect(purged.filter(({ state }) => state === "kept")).toEqual([
    { path: host.hooks, state: "kept", why: "It holds what the agent has not put there: 50-mine. Remove that by hand." },
    { path: pathOf("etc/certitude-agent"), state: "kept", why: "It holds what the agent has not put there: hooks.d. Remove that by hand." },
    { path: pathOf("state"), state: "kept", why: "It holds what the agent has not put there: keys, notes.txt. Remove that by hand." },
  ]);
  expect(readdirSync(pathOf("state"), { recursive: true }).toSorted()).toEqual(["keys", "keys/mine.pem", "notes.txt"]);
  expect([existsSync(pathOf("units/certitude-agent.service")), existsSync(pathOf("certitude.prom"))]).toEqual([true, true]);
});

test("a thing that cannot be removed is named with why, and the others go", async () => {
  const { host, places } = prepare();
  await Bun.$`chattr +i ${places.policyFile}`.quiet();
  const purged = await purge(places, host);
  await Bun.$`chattr -i ${places.policyFile}`.quiet();
  expect(purged.filter(({ state }) => state === "failed")).toEqual([
    { path: places.policyFile, state: "failed", why: expect.stringContaining("cannot be removed") },
  ]);
  expect(existsSync(pathOf("state"))).toBe(false);
});
