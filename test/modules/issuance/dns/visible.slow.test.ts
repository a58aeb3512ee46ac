import { expect } from "bun:test";
import { endBinds } from "../../../support/issuance/bind";
import { solverOf, startZones, type Zones } from "../../../support/issuance/zones";
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

describe("a proof is visible", () => {
  test("once the secondary has heard of it", async () => {
    const solver = solverOf(zones);
    const proof = { name: "_acme-challenge.www.example.test", value: "heard" };
    expect(await solver.isVisible(proof, never)).toMatchObject({ visible: false });
    await solver.present(proof, never);
    while (!(await solver.isVisible(proof, never)).visible) await Bun.sleep(20);
    expect(await solver.isVisible({ ...proof, value: "another" }, never)).toMatchObject({ visible: false });
    await solver.remove(proof, never);
    const after = await solver.isVisible(proof, never);
    expect(after).toMatchObject({ visible: false, reason: expect.stringContaining("does not have the record of _acme-challenge.www.example.test yet.") });
  });

  test("not while one server lags, which is named", async () => {
    const solver = solverOf(zones);
    const proof = { name: "_acme-challenge.www.lagging.test", value: "late" };
    await solver.present(proof, never);
    expect(await solver.isVisible(proof, never)).toEqual({
      visible: false,
      reason: `ns2.lagging.test (127.0.0.2:${zones.port}) does not have the record of _acme-challenge.www.lagging.test yet.`,
    });
    await zones.catchUp();
    while (!(await solver.isVisible(proof, never)).visible) await Bun.sleep(20);
  });

  test("where the answer is too long for a datagram, too", async () => {
    const solver = solverOf(zones, { config: { nameservers: [zones.server] } });
    const name = "_acme-challenge.long.example.test";
    const values = Array.from({ length: 20 }, (_, index) => `${index}-${"x".repeat(40)}`);
    for (const value of values) await solver.present({ name, value }, never);
    for (const value of values) expect(await solver.isVisible({ name, value }, never)).toEqual({ visible: true });
  });

  test("where an address of a server cannot be reached, but another one of it answers", async () => {
    const solver = solverOf(zones);
    const proof = { name: "_acme-challenge.ipv6.test", value: "v" };
    await solver.present(proof, never);
    expect(await solver.isVisible(proof, never)).toEqual({ visible: true });
  });
});

describe("a proof is not visible, and the reason says", () => {
  const present = async (name: string) => {
    const solver = solverOf(zones);
    await solver.present({ name, value: "v" }, never);
    return solver.isVisible({ name, value: "v" }, never);
  };
  const hidden = (reason: string) => ({ visible: false as const, reason });

  test("which server is no authority", async () => {
    expect(await present("_acme-challenge.lame.test")).toEqual(
      hidden(`ns2.lame.test (127.0.0.2:${zones.port}) refused (REFUSED) when asked for _acme-challenge.lame.test.`),
    );
  });

  test("which server is away", async () => {
    expect(await present("_acme-challenge.dead.test")).toEqual(hidden(`ns9.dead.test (127.0.0.9:${zones.port}) refused the connection.`));
  });

  test("which server has no address", async () => {
    expect(await present("_acme-challenge.nowhere.test")).toEqual(hidden("ns.gone.test has no address."));
  });

  test("that private addresses are not asked", async () => {
    const name = "_acme-challenge.private.example.test";
    const config = { nameservers: [zones.server] };
    await solverOf(zones, { config }).present({ name, value: "v" }, never);
    expect(await solverOf(zones, { config: { ...config, followCname: false }, allowPrivate: false }).isVisible({ name, value: "v" }, never)).toEqual(
      hidden("The name server has only private addresses, which this server does not ask (ALLOW_PRIVATE_TARGETS)."),
    );
  });

  test("that no zone has the name", async () => {
    expect(await solverOf(zones).isVisible({ name: "_acme-challenge.a.unknown.invalid", value: "v" }, never)).toEqual(
      hidden("No zone is found that _acme-challenge.a.unknown.invalid is in."),
    );
  });
});
