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

test("the unit that certitude install prints runs the server, restarts it, and stops it in order; over https, too", async () => {
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

  const tls = "/etc/certitude/tls";
  const withTls = `useradd --system certitude && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${tls}.key -out ${tls}.pem \\
      -subj /CN=localhost -addext subjectAltName=DNS:localhost && chown root:certitude ${tls}.key && chmod 640 ${tls}.key &&
    printf 'TLS_CERT=${tls}.pem\\nTLS_KEY=${tls}.key\\n' >>/etc/certitude/environment && systemctl start certitude`;
  expect(await machine.paste(withTls)).toMatchObject({ code: 0 });
  const look = `NODE_EXTRA_CA_CERTS=${tls}.pem certitude healthcheck --url https://localhost:${port}`;
  await until(async () => expect(await machine.paste(look)).toMatchObject({ code: 0, out: "ready" }));
});
