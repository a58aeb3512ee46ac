import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../support/agent/observing";
import { type SystemdMachine, startSystemdMachine } from "../support/agent/systemd-machine";
import { PROGRAM } from "../support/server/program";

setDefaultTimeout(300_000);

let machine: SystemdMachine;
beforeAll(async () => {
  machine = await startSystemdMachine(PROGRAM);
});
afterAll(() => machine.stop());

test("the unit that certitude install prints runs the server, restarts it, and stops it in order", async () => {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  const setUp = `mkdir -p /etc/certitude && echo PORT=${port} >/etc/certitude/environment &&
    certitude install --print >/etc/systemd/system/certitude.service && systemctl daemon-reload && systemctl start certitude`;
  expect(await machine.paste(setUp)).toMatchObject({ code: 0 });
  const health = () => machine.run("certitude", "healthcheck", "--url", `http://127.0.0.1:${port}`);
  const isReady = () => until(async () => expect(await health()).toMatchObject({ code: 0, out: "ready" }));
  await isReady();
  const show = async (property: string) => (await machine.run("systemctl", "show", "--property", property, "--value", "certitude")).out;
  const first = await show("MainPID");
  expect((await machine.run("sed", "-n", "s/^NoNewPrivs:\\t//p", `/proc/${first}/status`)).out).toBe("1");
  expect((await machine.run("sed", "-n", "s/^Uid:\\t\\([0-9]*\\).*/\\1/p", `/proc/${first}/status`)).out).not.toBe("0");
  await machine.run("kill", "-KILL", first);
  await until(async () => expect(await show("NRestarts")).toBe("1"));
  await isReady();
  expect(await machine.run("systemctl", "stop", "certitude")).toMatchObject({ code: 0 });
  expect(await show("Result")).toBe("success");
});
