import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { keyPemOf, localhostIdentity } from "../../../support/issuance/pebble";
import { connect, tryOut } from "../../../support/server/connections";
import { reply, startMailServer } from "../../../support/server/mail-server";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const organization = await newOrganization();
const { authority, identity } = localhostIdentity();
const known = getCACertificates("default");
const tls = { cert: identity.pem, key: keyPemOf(identity), hideSTARTTLS: false };
const spoken: string[] = [];
const signsIn = {
  onAuth: (
    { username, password }: { username?: string; password?: string },
    session: { secure: boolean },
    done: (error: Error | null, user?: object) => void,
  ) => {
    spoken.push(`AUTH ${username} ${session.secure ? "over TLS" : "in the open"}`);
    done(password === "right" ? null : reply(535, "no"), { user: username ?? "" });
  },
  allowInsecureAuth: true,
};
const servers = {
  none: await startMailServer({ options: signsIn as object }),
  starttls: await startMailServer({ options: { ...signsIn, ...tls } as object }),
  tls: await startMailServer({ options: { ...signsIn, ...tls, secure: true } as object }),
  silent: await startMailServer({ options: { disabledCommands: ["AUTH", "STARTTLS"] } }),
};
afterAll(async () => {
  setDefaultCACertificates(known);
  for (const server of Object.values(servers)) await server.stop();
});

async function tryAt(port: number, config: object, password?: string, url?: string) {
  const fields = { host: "localhost", port, fromAddress: "pki@team.example", ...config, ...(password !== undefined && { username: "ada" }) };
  return (await tryOut(organization, await connect(organization, "smtp", fields, password === undefined ? {} : { password }), url)).body;
}

const ACCEPTED = { outcome: "ok", message: "It accepted the credentials." };
const failed = (message: string) => ({ outcome: "failed", message });

describe("POST …/core/connections/{connectionId}/test of smtp", () => {
  test.each(["none", "starttls", "tls"] as const)(
    "200 ok with security %s where it takes the password, failed where it does not, and no mail goes out",
    async (security) => {
      setDefaultCACertificates([...known, authority.pem]);
      const { port, received } = servers[security];
      spoken.splice(0);
      expect(await tryAt(port, { security }, "right")).toEqual(ACCEPTED);
      expect(spoken.splice(0)).toEqual([`AUTH ada ${security === "none" ? "in the open" : "over TLS"}`]);
      expect(await tryAt(port, { security }, "wrong")).toEqual(failed("The mail server refuses the user name and the password (535)."));
      expect(await tryAt(port, { security })).toEqual({ outcome: "ok", message: "It answers. Credentials are not part of this check." });
      expect(received).toEqual([]);
    },
  );

  test("200 failed without TLS that is trusted, or without any where it is wanted: the password stays here", async () => {
    setDefaultCACertificates(known);
    spoken.splice(0);
    expect(await tryAt(servers.starttls.port, { security: "starttls" }, "right")).toEqual(failed("Its TLS certificate is not trusted."));
    expect(await tryAt(servers.tls.port, { security: "tls" }, "right")).toEqual(failed("Its TLS certificate is not trusted."));
    expect((await tryAt(servers.silent.port, { security: "starttls" }, "right")).message).toBe(
      "The mail server offers no TLS (STARTTLS), and nothing is sent to it without.",
    );
    expect(spoken).toEqual([]);
  });

  test("200 failed where it lets nobody sign in, nobody listens, or the address is private", async () => {
    expect((await tryAt(servers.silent.port, { security: "none" }, "right")).outcome).toBe("failed");
    const closed = await startMailServer();
    await closed.stop();
    expect(await tryAt(closed.port, { security: "none" })).toEqual(failed("It refused the connection."));
    expect(await tryAt(servers.none.port, { security: "none" }, "right", world.url)).toEqual(
      failed("Its host name leads to a private, local or reserved address."),
    );
  });
});
