import { expect } from "bun:test";
import type { DnsFault } from "#modules/issuance/dns/rules/fault";
import { askByTcp } from "#modules/issuance/dns/services/ask";
import { aKey, endBinds } from "../../../support/issuance/bind";
import { framed, startDnsServer } from "../../../support/issuance/dns-server";
import { otherAlgorithms, solverOf, startZones, type Zones } from "../../../support/issuance/zones";
import { needing } from "../../../support/needing";

const { afterAll, beforeAll, describe, test } = needing("named", "rndc");

let zones: Zones;
beforeAll(async () => {
  zones = await startZones();
});
afterAll(async () => {
  await zones?.stop();
  endBinds();
});

const never = new AbortController().signal;
const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => "no fault",
    ({ message, isFinal }: DnsFault) => ({ message, isFinal }),
  );
const nameServer = () => `The name server ${zones.server}`;

describe("a proof by DNS UPDATE", () => {
  test("that stands is removed alone: other values of the name stay", async () => {
    const solver = solverOf(zones);
    const name = "_acme-challenge.one.example.test";
    await solver.present({ name, value: "first" }, never);
    await solver.present({ name, value: "second" }, never);
    expect(await zones.valuesOf(name)).toEqual(["first", "second"]);
    await solver.remove({ name, value: "first" }, never);
    expect(await zones.valuesOf(name)).toEqual(["second"]);
  });

  test("may be presented again, and removed again", async () => {
    const solver = solverOf(zones);
    const proof = { name: "_acme-challenge.twice.example.test", value: "value" };
    await solver.present(proof, never);
    await solver.present(proof, never);
    expect(await zones.valuesOf(proof.name)).toEqual(["value"]);
    await solver.remove(proof, never);
    await solver.remove(proof, never);
    expect(await zones.valuesOf(proof.name)).toEqual([]);
  });

  test("of two orders at once: both values stand", async () => {
    const name = "_acme-challenge.both.example.test";
    const values = Array.from({ length: 8 }, (_, index) => `value-${index}`);
    await Promise.all(values.map((value) => solverOf(zones).present({ name, value }, never)));
    expect(await zones.valuesOf(name)).toEqual(values);
    await Promise.all(values.slice(1).map((value) => solverOf(zones).remove({ name, value }, never)));
    expect(await zones.valuesOf(name)).toEqual(["value-0"]);
  });

  test("is signed by each algorithm that a key may have", async () => {
    for (const key of otherAlgorithms) await solverOf(zones, { key }).present({ name: "_acme-challenge.keys.example.test", value: key.algorithm }, never);
    expect(await zones.valuesOf("_acme-challenge.keys.example.test")).toEqual(["hmac-sha384", "hmac-sha512"]);
  });

  test("of a name that is written in capitals and with its dot is written where it belongs", async () => {
    await solverOf(zones).present({ name: "_ACME-Challenge.Capital.Example.TEST.", value: "v" }, never);
    expect(await zones.valuesOf("_acme-challenge.capital.example.test")).toEqual(["v"]);
  });
});

describe("an answer to an update", () => {
  test("is not believed where a bit of it was changed on the way", async () => {
    const proof = { name: "_acme-challenge.changed.example.test", value: "value" };
    let at = -1;
    let size = 0;
    const between = await startDnsServer({
      tcp: async (bytes, socket) => {
        const answer = (await askByTcp({ host: "127.0.0.1", port: zones.port }, bytes.subarray(2), { allowPrivate: true, signal: never })).bytes;
        size = answer.length;
        if (at >= 0) answer[at] = (answer[at] ?? 0) ^ 1;
        socket.end(framed(answer));
      },
    });
    const solver = solverOf({ ...zones, server: between.address }, { config: { resolvers: [zones.server] } });
    await solver.present(proof, never);
    expect(await zones.valuesOf(proof.name)).toEqual(["value"]);
    for (at = 0; at < size; at++) expect({ at, fault: await faultOf(solver.remove(proof, never)) }).not.toEqual({ at, fault: "no fault" });
    expect(await zones.valuesOf(proof.name)).toEqual(["value"]);
    between.stop();
  });
});

describe("a DNS UPDATE is refused", () => {
  const proof = { name: "_acme-challenge.refused.example.test", value: "value" };

  test("with another secret (BADSIG)", async () => {
    const key = aKey("acme.example.test");
    expect(await faultOf(solverOf(zones, { key }).present(proof, never))).toEqual({
      message: `${nameServer()} has another secret for the key acme.example.test (BADSIG).`,
      isFinal: true,
    });
  });

  test("with a key that the server does not know (BADKEY)", async () => {
    expect(await faultOf(solverOf(zones, { key: aKey("stranger.example.test") }).present(proof, never))).toEqual({
      message: `${nameServer()} knows no key stranger.example.test with hmac-sha256 (BADKEY).`,
      isFinal: true,
    });
  });

  test.each([-3_600_000, 3_600_000])("with a clock that is off by %d ms (BADTIME), which may pass", async (off) => {
    const fault = await faultOf(solverOf(zones, { clock: () => new Date(Date.now() + off) }).present(proof, never));
    expect(fault).toMatchObject({ message: expect.stringMatching(/^The clocks differ: .+ says 20.+Z, this server 20.+Z \(BADTIME\)\.$/), isFinal: false });
  });

  test("for a zone that the key may not change (REFUSED)", async () => {
    expect(await faultOf(solverOf(zones).present({ name: "_acme-challenge.a.locked.test", value: "v" }, never))).toEqual({
      message: `${nameServer()} refused (REFUSED) when asked to change _acme-challenge.a.locked.test in the zone locked.test.`,
      isFinal: true,
    });
  });

  test("for a name that is in no zone of the server", async () => {
    for (const name of ["_acme-challenge.a.unknown.invalid", "_acme-challenge.test"]) {
      expect(await faultOf(solverOf(zones).present({ name, value: "v" }, never))).toEqual({
        message: `${nameServer()} is not the authority of any zone that ${name} is in.`,
        isFinal: true,
      });
    }
  });

  test("for what is no DNS name", async () => {
    for (const name of ["", "a b.example.test", "ä.example.test", `${"a".repeat(64)}.example.test`, `${"a.".repeat(125)}example.test`]) {
      expect(await faultOf(solverOf(zones).present({ name, value: "v" }, never))).toEqual({ message: `${name} is no DNS name.`, isFinal: true });
    }
  });

  test("where the server has a private address, and such are not allowed", async () => {
    const solver = solverOf(zones, { allowPrivate: false, config: { followCname: false } });
    expect(await faultOf(solver.present(proof, never))).toEqual({
      message: `${nameServer()}: Its host name leads to a private, local or reserved address.`,
      isFinal: true,
    });
  });
});
