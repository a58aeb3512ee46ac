import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mint } from "#demo/mint";
import { newPlace, run } from "../support/server/executable";
import { startMailServer } from "../support/server/mail-server";

setDefaultTimeout(300_000);

const place = newPlace();
const directory = mkdtempSync(join(tmpdir(), "certitude-mail-"));
afterAll(() => {
  place.remove();
  rmSync(directory, { recursive: true });
});

test("the executable sends mail, over STARTTLS that it verifies", async () => {
  const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
  const authority = mint({ commonName: "Authority of the test", isCa: true, ...life });
  const { pem, privateKey } = mint({ commonName: "localhost", dns: ["localhost"], issuer: authority, ...life });
  const ca = join(directory, "ca.pem");
  writeFileSync(ca, authority.pem);
  const key = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const server = await startMailServer({ options: { cert: pem, key, hideSTARTTLS: false } });
  const base = `smtp://localhost:${server.port}?requireTLS=true`;
  const send = (SMTP_URL: string) =>
    run(
      { cwd: place.cwd, env: { DATA_DIR: place.dataDir, SMTP_URL, MAIL_FROM: "certitude@example.org", PUBLIC_URL: "https://certitude.example" } },
      "mail",
      "test",
      "--to",
      "ada@example.org",
    );
  expect(await send(`${base}&ca=${encodeURIComponent(ca)}`)).toMatchObject({ code: 0, stderr: "" });
  expect(server.received.map(({ to }) => to)).toEqual(["ada@example.org"]);
  const untrusted = await send(base);
  expect([untrusted.code, untrusted.stderr]).toEqual([1, expect.stringContaining(`TLS with localhost:${server.port} failed`)]);
  expect(server.received).toHaveLength(1);
  await server.stop();
});
