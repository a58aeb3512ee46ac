import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { changeOf } from "#agent/hooks/change";
import { readTarget } from "#agent/targets";
import { desired, desiredServer } from "../support/agent/agent-host";
import { type ConnectedAgent, newConnectedAgent } from "../support/agent/connected-agent";
import { newAuthority } from "../support/pki/authority";
import { certificate } from "../support/pki/certificates";

setDefaultTimeout(300_000);

const ROOT_ONLY = 0o755;
const FAULT = "A hook of this host failed after the change: the agent's log on the host names it.";

let agent: ConnectedAgent;
let hooks: string;
/** Below a directory that only root may write, as /etc is: /tmp is sticky, which is enough on the way. */
beforeEach(async () => {
  agent = await newConnectedAgent((host, directory) => ({ ...host, hooks: `${directory}/hooks.d`, patience: { ...host.patience, tool: 3_000 } }));
  hooks = agent.pathOf("hooks.d");
  mkdirSync(hooks, { mode: ROOT_ONLY });
});
afterEach(() => agent.end());

function hook(name: string, script: string, mode = ROOT_ONLY) {
  writeFileSync(`${hooks}/${name}`, `#!/bin/sh\n${script}\n`);
  chmodSync(`${hooks}/${name}`, mode);
}
const linesOf = (name: string) => (existsSync(agent.pathOf(name)) ? readFileSync(agent.pathOf(name), "utf8").trimEnd().split("\n") : []);
const reasonsOf = (msg: string) => agent.said.filter((each) => each.msg === msg).map(({ reason }) => reason);

describe("hooks of the host", () => {
  test("run once for each change, in the order of their names: installed, healed, removed; never for a pass that changes nothing", async () => {
    hook("10-first", `echo "first $CERTITUDE_EVENT $CERTITUDE_STORE $CERTITUDE_PATHS" >>${agent.pathOf("runs")}`);
    hook("20-second.sh", `echo "second $CERTITUDE_ASSIGNMENT" >>${agent.pathOf("runs")}`);
    const id = await agent.assign((await agent.newRoot()).id, "root");
    await agent.pass();
    await agent.pass();
    const place = agent.pathOf("store/root.pem");
    expect(linesOf("runs")).toEqual([`first installed openssl_ca_dir ${place}`, `second ${id}`]);
    rmSync(place);
    await agent.pass();
    await agent.pass();
    expect(linesOf("runs").slice(2)).toEqual([`first healed openssl_ca_dir ${place}`, `second ${id}`]);
    await agent.unassign(id);
    await agent.pass();
    await agent.pass();
    expect(linesOf("runs").slice(4)).toEqual([`first removed openssl_ca_dir ${place}`, `second ${id}`]);
    expect(await agent.historyOf(id).catch(() => "gone")).toBe("gone");
  });

  test("one that fails is reported in words of the agent's own until the next change, and logged with what it said; the change stays", async () => {
    hook("fails", "echo secret >&2; exit 3");
    const id = await agent.assign((await agent.newRoot()).id, "root");
    expect(await agent.pass()).toEqual({ failed: 0 });
    await agent.pass();
    expect(await agent.historyOf(id)).toEqual(["installed", `installed: ${FAULT}`]);
    expect(reasonsOf("a hook failed")).toEqual([`${hooks}/fails ended with exit code 3: ‹secret›.`]);
    hook("fails", "exit 0");
    rmSync(agent.pathOf("store/root.pem"));
    await agent.pass();
    await agent.pass();
    expect(await agent.historyOf(id)).toEqual(["installed", `installed: ${FAULT}`, "drifted: Found and healed: root.pem is missing", "installed"]);
  });

  test("one that does not end is stopped, and not waited for again in the same pass; the others run", async () => {
    hook("10-endless", `echo begun >>${agent.pathOf("endless")}; sleep 300`);
    hook("20-quick", `echo ran >>${agent.pathOf("runs")}`);
    const root = await agent.newRoot();
    const ids = [await agent.assign(root.id, "one"), await agent.assign(root.id, "two")];
    await agent.pass();
    expect([linesOf("endless"), linesOf("runs")]).toEqual([["begun"], ["ran", "ran"]]);
    for (const id of ids) expect((await agent.historyOf(id)).at(-1)).toBe(`installed: ${FAULT}`);
  });

  test("run after a kill too: what changed is on disk until they have run for it", async () => {
    const id = await agent.assign((await agent.newRoot()).id, "root");
    hook("10-kill", "exit 0");
    await agent.pass();
    const record = agent.state().records.get(id);
    if (!record?.target) throw new Error("there is no record");
    record.change = changeOf("installed", record.target, record.certificate ?? "", []);
    await agent.state().save(record); // as it is on disk before the hooks have run
    await agent.restart();
    hook("20-after", `echo "$CERTITUDE_ASSIGNMENT" >>${agent.pathOf("runs")}`);
    await agent.pass();
    await agent.restart();
    await agent.pass();
    expect(linesOf("runs")).toEqual([id]);
  });

  test("are refused, and said to be, unless only root can have put them there and they can run; what editors leave is passed over", async () => {
    const script = `echo "$0" >>${agent.pathOf("runs")}`;
    hook("anyones", script);
    chownSync(`${hooks}/anyones`, 65534, 65534);
    hook("writable", script, 0o777);
    hook("plain", script, 0o644);
    hook("fine", script);
    hook("fine~", script);
    hook(".hidden", script);
    mkdirSync(`${hooks}/directory`);
    mkdirSync(agent.pathOf("open"));
    chmodSync(agent.pathOf("open"), 0o777);
    writeFileSync(agent.pathOf("open/target"), `#!/bin/sh\n${script}\n`, { mode: ROOT_ONLY });
    symlinkSync(agent.pathOf("open/target"), `${hooks}/linked`);
    symlinkSync(agent.pathOf("missing"), `${hooks}/nowhere`);
    await agent.assign((await agent.newRoot()).id, "root");
    await agent.pass();
    expect(linesOf("runs")).toEqual([`${hooks}/fine`]);
    expect(reasonsOf("a hook is not run")).toEqual([
      `${hooks}/anyones belongs to the user with the id 65534, not to root: chown root ${hooks}/anyones`,
      `${hooks}/directory is not a plain file.`,
      `Other users may write in ${agent.pathOf("open")}, on the way to the hook: chmod go-w ${agent.pathOf("open")}`,
      expect.stringContaining("no such file or directory"),
      `${hooks}/plain is not executable: chmod +x ${hooks}/plain`,
      `${hooks}/writable may be written by other users: chmod go-w ${hooks}/writable`,
    ]);
    rmSync(agent.pathOf("runs"));
    chmodSync(hooks, 0o777);
    rmSync(agent.pathOf("store/root.pem"));
    await agent.pass();
    expect(linesOf("runs")).toEqual([]);
    chmodSync(hooks, ROOT_ONLY);
  });
});

describe("what hooks are given", () => {
  test("is what certbot's are, where a certificate has come that is presented: its names and the directory of its files", async () => {
    const authority = await newAuthority();
    const leaf = await authority.issueServer("www.corp.example", "*.corp.example", "127.0.0.1");
    const config = { trustStorePath: "/etc/nginx/ssl" };
    const target = readTarget(desiredServer(leaf, { id: "6d1f4a0e-98f4-4c6c-8f7e-0a6a3d3f8a11", trustStoreType: "nginx_tls", config }));
    const undo = ["tls.crt", "tls.key"].map((name) => ({ kind: "file" as const, path: `/etc/nginx/ssl/${name}`, before: null, after: null }));
    expect(changeOf("installed", target, leaf.pem, undo)).toEqual({
      CERTITUDE_EVENT: "installed",
      CERTITUDE_ASSIGNMENT: "6d1f4a0e-98f4-4c6c-8f7e-0a6a3d3f8a11",
      CERTITUDE_STORE: "nginx_tls",
      CERTITUDE_FINGERPRINT: leaf.fingerprint,
      CERTITUDE_NAMES: "www.corp.example *.corp.example 127.0.0.1",
      CERTITUDE_PATHS: "/etc/nginx/ssl/tls.crt /etc/nginx/ssl/tls.key",
      RENEWED_DOMAINS: "www.corp.example *.corp.example 127.0.0.1",
      RENEWED_LINEAGE: "/etc/nginx/ssl",
    });
    for (const each of [changeOf("removed", target, leaf.pem, undo), changeOf("installed", { ...target, materialType: "trust_anchor" }, leaf.pem, undo)])
      expect(Object.keys(each)).not.toContain("RENEWED_LINEAGE");
    authority.remove();
  });

  test("holds no name or place that a shell would take for more than a word, and no more than a variable holds", async () => {
    const authority = await newAuthority();
    const names = ["-rf.example", "a b.example", "$(id).example", "`id`.example", "a;b.example", "a\nb.example", "../x", "*.*.example", "a.example'"];
    const many = Array.from({ length: 4_000 }, (_, index) => `host-${index}.a-long-name.corp.example`);
    const evil = certificate({ dns: [...names, "good.example", ...many] }).pem;
    const target = readTarget(desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: "/etc/x", alias: "x" } }));
    const undo = ["/etc/a b.pem", "/etc/$(id).pem", "/etc/a;b.pem", "/etc/good.pem"].map((path) => ({
      kind: "file" as const,
      path,
      before: null,
      after: null,
    }));
    const { CERTITUDE_NAMES = "", CERTITUDE_PATHS } = changeOf("installed", target, evil, undo);
    expect(CERTITUDE_PATHS).toBe("/etc/good.pem");
    expect(CERTITUDE_NAMES).toStartWith("good.example host-0.a-long-name.corp.example ");
    expect(CERTITUDE_NAMES.length).toBeLessThan(60_000);
    authority.remove();
  });
});
