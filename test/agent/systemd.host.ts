import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../support/agent/observing";
import { type SystemdMachine, startSystemdMachine } from "../support/agent/systemd-machine";
import { certificate, importInto } from "../support/pki/certificates";
import { newJoinToken } from "../support/server/hosts";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

const UNIT = "/etc/systemd/system/certitude-agent.service";
const STATE = "/var/lib/certitude-agent";

let machine: SystemdMachine;
let organization: TestOrganization;
/** What the agent of the machine is asked for. */
let assignments: string;
const { pem } = certificate({ commonName: "Systemd Root", isCa: true });
let certificateId: string;

beforeAll(async () => {
  [machine, organization] = await Promise.all([startSystemdMachine(), newOrganization()]);
  [certificateId = ""] = await importInto(organization, pem);
  await machine.write("/run/root.pem", pem);
});
afterAll(() => machine.stop());

const assign = async (trustStoreType: string, config: object = {}) =>
  (await organization.admin("POST", assignments, { body: { applicationId: "shop", certificateId, trustStoreType, config } })).body.id;
/** What the agent's own user sees. */
const status = async () => JSON.parse((await machine.paste(`exec setpriv --reuid "$(stat -c %u ${STATE})" --clear-groups certitude-agent status --json`)).out);
const standingOf = async (id: string) => (await status()).assignments.find((each: { assignmentId: string }) => each.assignmentId === id);
/** Asks the service for a pass at once, as soon as it runs. */
async function reload() {
  await until(async () => expect((await status()).isRunning).toBe(true));
  expect(await machine.run("systemctl", "reload", "certitude-agent")).toMatchObject({ code: 0 });
}
const mainProcess = async () => (await machine.run("systemctl", "show", "--property", "MainPID", "--value", "certitude-agent")).out;
const statusOf = async (field: string) => (await machine.run("sed", "-n", `s/^${field}:\\t//p`, `/proc/${await mainProcess()}/status`)).out;
/** Whether the machine's own store has the root. */
const isTrusted = async () => (await machine.run("openssl", "verify", "-CApath", "/etc/ssl/certs", "/run/root.pem")).code === 0;

test("install --now refuses what would not start, then makes it a service that joined hosts run", async () => {
  expect(await machine.agent()).toMatchObject({ code: 2, err: expect.stringContaining("this host has not joined") });
  expect(await machine.agent("instal")).toMatchObject({ code: 2, err: "There is no command instal: certitude-agent --help shows what there is." });
  expect(await machine.agent("install", "--now")).toMatchObject({ code: 2, err: expect.stringContaining("This host has not joined a server.") });
  const { token } = await newJoinToken(organization);
  expect(await machine.agent("join", "--server", world.url, "--token", token, "--name", "shop-1")).toMatchObject({ code: 0 });
  const [agent] = (await organization.member("GET", "/agents")).body.items;
  assignments = `/agents/${agent.id}/assignments`;
  expect(await machine.agent("install", "--now", "--write", "/srv/missing")).toMatchObject({
    code: 2,
    err: "--write /srv/missing does not exist. Make it first: mkdir -p /srv/missing",
  });
  expect(await machine.agent("install", "--now")).toEqual({
    code: 0,
    out: `${UNIT} written.\ncertitude-agent is enabled and runs. Its log: journalctl -u certitude-agent`,
    err: expect.any(String),
  });
  expect((await machine.run("systemctl", "is-enabled", "certitude-agent")).out).toBe("enabled");
  await until(async () => expect((await machine.agent("status")).out).toStartWith("The agent runs;"));
  const process = await mainProcess();
  expect((await machine.agent("install", "--now")).out).toStartWith(`${UNIT} is as it should be.`);
  expect(await mainProcess()).toBe(process);
});

test("install --now fails where systemd cannot start the service, with what to look at", async () => {
  await machine.run("mkdir", "/srv/passing");
  const dropIn = "/etc/systemd/system/certitude-agent.service.d";
  await machine.run("mkdir", "-p", dropIn);
  await machine.write(`${dropIn}/more.conf`, "[Service]\nReadWritePaths=/srv/nowhere\n");
  expect(await machine.agent("install", "--now", "--write", "/srv/passing")).toMatchObject({ code: 1, err: expect.stringContaining("journalctl") });
  await machine.run("rm", "-r", dropIn);
  await machine.run("systemctl", "daemon-reload");
  expect(await machine.agent("install", "--now")).toMatchObject({ code: 0 });
});

test("the service fills the system's store with the few rights that it has", async () => {
  expect(await isTrusted()).toBe(false);
  const id = await assign("linux_update_ca_certificates");
  await reload();
  await until(async () => expect(await standingOf(id)).toMatchObject({ state: "holds" }));
  expect(await isTrusted()).toBe(true);
  expect(await statusOf("NoNewPrivs")).toBe("1");
  expect(await statusOf("CapEff")).toBe("00000000000004eb");
});

test("the service has a bound for memory and processes, higher where the agent is to read larger answers", async () => {
  const limits = () => machine.run("systemctl", "show", "--property", "MemoryMax,TasksMax", "certitude-agent");
  expect((await limits()).out.split("\n").toSorted()).toEqual([`MemoryMax=${1024 ** 3}`, "TasksMax=1024"]);
  expect(await machine.agent("install", "--now", "--max-answer", "128MiB")).toMatchObject({ code: 0 });
  expect((await limits()).out).toContain(`MemoryMax=${2560 * 1024 ** 2}`);
  expect((await machine.run("systemctl", "show", "--property", "ExecStart", "certitude-agent")).out).toContain("--max-answer 128MiB");
  expect(await machine.agent("install", "--now", "--max-answer", "many")).toMatchObject({ code: 2, err: expect.stringContaining("a size such as 16MiB") });
  expect(await machine.agent("install", "--now")).toMatchObject({ code: 0 });
});

test("what the policy refuses is shown with the command that permits it; what the unit forbids with the option that opens it", async () => {
  const id = await assign("openssl_ca_dir", {
    trustStorePath: "/srv/it's $HOME",
    alias: "root",
    reloadCommand: ["sh", "-c", "echo 'read again' >/run/read-again"],
  });
  await reload();
  await until(async () => expect(await standingOf(id)).toMatchObject({ state: "refused" }));
  const { why } = await standingOf(id);
  const consent = why.slice(why.indexOf("certitude-agent policy allow"));
  expect((await machine.agent("status")).out).toContain(`refused  openssl_ca_dir`);
  expect(await machine.paste(consent)).toMatchObject({ code: 0 });
  await reload();
  await until(async () => expect(await standingOf(id)).toMatchObject({ state: "differs", why: expect.stringContaining("its file system is read-only") }));
  expect((await standingOf(id)).why).not.toContain("Rolling back failed");
  await machine.run("mkdir", "/srv/it's $HOME");
  expect(await machine.agent("install", "--now", "--write", "/srv/it's $HOME")).toMatchObject({ code: 0 });
  await reload();
  await until(async () => expect(await standingOf(id)).toMatchObject({ state: "holds" }));
  expect((await machine.run("cat", "/run/read-again")).out).toBe("read again");
});

test("remove --all waits until the service is stopped, and leaves the machine without any of it", async () => {
  expect(await machine.agent("remove", "--all")).toMatchObject({ code: 1, err: expect.stringContaining("is in use by another certitude") });
  await machine.run("systemctl", "stop", "certitude-agent");
  expect(await machine.log()).toContain('"signal":"SIGTERM"');
  const { code, out } = await machine.agent("remove", "--all");
  expect({ code, lines: out.split("\n").map((line) => line.split(" ")[0]) }).toEqual({
    code: 0,
    lines: ["removed", "removed", "stays", "stays", "stays", "With", "Next:"],
  });
  expect(out).toMatch(new RegExp(`^stays {2}${UNIT}$`, "m"));
  expect(out).toMatch(/^Next: delete the agent shop-1 \([0-9a-f-]{36}\) on http/m);
  expect(await isTrusted()).toBe(false);
  expect((await machine.run("ls", "-A", "/srv/it's $HOME")).out).toBe("");
});

test("install --user --now makes an account without any right, which alone can look at its agent", async () => {
  expect(await machine.agent("install", "--now", "--user", "certitude")).toMatchObject({ code: 0 });
  expect([await statusOf("CapEff"), await statusOf("CapBnd")]).toEqual(["0000000000000000", "0000000000000000"]);
  const uid = (await machine.run("id", "-u", "certitude")).out;
  expect((await statusOf("Uid")).split("\t")).toEqual([uid, uid, uid, uid]);
  expect((await machine.run("stat", "-c", "%U %a", STATE)).out).toBe("certitude 700");
  expect(await machine.agent("status")).toMatchObject({
    code: 1,
    err: expect.stringContaining(`belongs to another user. Run this as that user: sudo -u '#${uid}'`),
  });
  const id = await assign("openssl_ca_dir", { trustStorePath: `${STATE}/anchors`, alias: "root" });
  await reload();
  await until(async () => expect(await standingOf(id)).toMatchObject({ state: "refused" }));
  expect((await status()).assignments).toContainEqual(
    expect.objectContaining({ store: "linux_update_ca_certificates", state: "differs", why: expect.stringContaining("its file system is read-only") }),
  );
});

test("remove --all --purge leaves nothing: the account takes its own away, root the rest", async () => {
  await machine.run("systemctl", "stop", "certitude-agent");
  const asAgent = await machine.paste(`exec setpriv --reuid "$(stat -c %u ${STATE})" --clear-groups certitude-agent remove --all --purge`);
  expect(asAgent).toMatchObject({ code: 1, err: expect.stringContaining("Run this as the user to whom they belong.") });
  expect((await machine.run("ls", "-A", STATE)).out).toBe("");
  const { code, out } = await machine.agent("remove", "--all", "--purge");
  expect({ code, out }).toEqual({
    code: 0,
    out: [
      "The agent has installed nothing here.",
      ...[UNIT, "/etc/certitude-agent/policy.json", "/etc/certitude-agent/policy.json.lock", "/etc/certitude-agent", STATE].map((path) => `removed  ${path}`),
      "Next: delete this host's agent on the server.",
    ].join("\n"),
  });
  expect((await machine.run("systemctl", "is-enabled", "certitude-agent")).code).not.toBe(0);
  expect((await machine.run("find", "/etc/systemd", "/etc/certitude-agent", STATE, "-path", "*certitude*")).out).toBe("");
});
