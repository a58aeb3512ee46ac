import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { presented } from "#agent/host/pem";
import { withPreset } from "#modules/fleet/trust-stores/rules/presets";
import presets from "#modules/fleet/trust-stores/rules/presets.json";
import { desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until, withPrograms } from "../../support/agent/observing";
import { newLeaves } from "../../support/agent/server-behaviour";
import { BROKERS } from "../../support/pki/presets/brokers";
import { MAIL } from "../../support/pki/presets/mail";
import { accountOf, type PresetServer, startPreset, trustsServer } from "../../support/pki/presets/server";
import { UNPACKED } from "../../support/pki/presets/unpacked";
import { WEB } from "../../support/pki/presets/web";
import { endServers, freePort } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const SERVERS = [...WEB, ...MAIL, ...BROKERS, ...UNPACKED];
const leaves = await newLeaves();
afterAll(() => {
  endServers();
  leaves.authority.remove();
});

type Preset = {
  trustStorePath: string;
  fileOwner: string;
  fileGroup: string;
  keyPermissionMode: string;
  reloadCommand?: string[];
  certFileName?: string;
  keyFileName?: string;
  combinedFileName?: string;
};

/** A preset's server, started with the files of its operator, on a host whose reload command reaches it. */
async function begin(server: PresetServer) {
  const agent = await newAgentHost();
  chmodSync(agent.directory, 0o711);
  const { trustStorePath: _, ...preset } = withPreset({ preset: server.preset }, hostname()) as Preset;
  const tls = agent.pathOf("tls");
  const directory = agent.pathOf("server");
  mkdirSync(tls);
  mkdirSync(directory, { mode: 0o755 });
  const { pem, chain, privateKeyPem } = leaves.bootstrap;
  const whole = presented(pem, chain).join("");
  const content = { certFileName: whole, keyFileName: privateKeyPem, combinedFileName: whole + privateKeyPem };
  const { gid } = accountOf(preset.fileGroup === "root" ? "root" : (server.user ?? preset.fileGroup));
  for (const field of ["certFileName", "keyFileName", "combinedFileName"] as const) {
    const name = preset[field];
    if (name === undefined) continue;
    writeFileSync(join(tls, name), content[field]);
    chmodSync(join(tls, name), field === "certFileName" ? 0o664 : Number.parseInt(preset.keyPermissionMode, 8));
    chownSync(join(tls, name), 0, gid);
  }
  const [port, spare] = [await freePort(), await freePort()];
  const running = await startPreset(server, { directory, tls, port, spare });
  const reload = preset.reloadCommand ?? [];
  const quoted = running.reload.map((each) => `'${each}'`).join(" ");
  const programs = reload.slice(0, 1).map((program) => [program, `exec ${quoted}${program === "systemctl" ? "" : ' "$@"'}`]);
  const reached = withPrograms(agent, Object.fromEntries(programs));
  const host = { ...reached, patience: { tool: 300_000, connection: 60_000, reload: 300_000 } }; // a busy machine has its time
  const config = { preset: server.preset, trustStorePath: tls, verifyEndpoint: `tls://127.0.0.1:${port}`, ...server.verified };
  return {
    host,
    preset,
    item: desiredServer(leaves.leaf, { trustStoreType: "pem_files", config }),
    pass: (item: Parameters<typeof agent.pass>[0]) => agent.pass(item, { host }),
    withdraw: (item: { id: string }) => agent.withdraw(item, { host }),
    files: () => stateOf(tls),
    secret: join(tls, preset.keyFileName ?? preset.combinedFileName ?? ""),
    calls: () => (existsSync(agent.pathOf("calls")) ? readFileSync(agent.pathOf("calls"), "utf8").trim().split("\n") : []),
    reloads: reload.length > 0 ? [reload.join(" ")] : [],
    gid,
    accepts: (name: string) => trustsServer(server, port, name, leaves.authority.root.pem),
    async end() {
      await running.stop();
      agent.remove();
    },
  };
}

describe("presets of pem_files", () => {
  test("each is proven here", () => {
    expect(SERVERS.map(({ preset }) => preset).toSorted()).toEqual(Object.keys(presets).toSorted());
  });

  test.concurrent.each(SERVERS)(
    "$preset: its clients refuse before and trust after and after a renewal, drift is healed, and the operator's files come back",
    async (server) => {
      const { preset, item, pass, withdraw, files, secret, calls, reloads, gid, accepts, end } = await begin(server);
      if (server.unit) expect([server.unit.file, server.unit.says.test(readFileSync(server.unit.file, "utf8"))]).toEqual([server.unit.file, true]);
      const before = files();
      await until(async () => expect([await accepts("boot.test"), await accepts("good.test")]).toEqual([true, false]));
      expect(await pass(item)).toEqual({ state: "installed", observedFingerprint: leaves.leaf.fingerprint });
      await until(async () => expect(await accepts("good.test")).toBe(true));
      expect(calls()).toEqual(reloads);
      const after = files();
      const name = secret.slice(dirname(secret).length + 1);
      expect(after[name]).toStartWith(`${(0o100000 + Number.parseInt(preset.keyPermissionMode, 8)).toString(8)} 0:${gid} `);
      expect(await pass(item)).toMatchObject({ state: "installed" });
      chmodSync(secret, 0o644);
      chownSync(secret, 0, 1);
      expect(await pass(item)).toMatchObject({ state: "drifted", message: expect.stringContaining("Found and healed:") });
      expect(files()).toEqual(after);
      const { pem, fingerprint, privateKeyPem } = leaves.next;
      expect(await pass({ ...item, version: 2, pem, fingerprintSha256: fingerprint, privateKeyPem })).toEqual({
        state: "installed",
        observedFingerprint: fingerprint,
      });
      await until(async () => expect([await accepts("good.test"), await accepts("next.test")]).toEqual([false, true]));
      expect(await withdraw(item)).toEqual({ state: "removed" });
      expect(files()).toEqual(before);
      await until(async () => expect([await accepts("boot.test"), await accepts("good.test")]).toEqual([true, false]));
      await end();
    },
  );
});
