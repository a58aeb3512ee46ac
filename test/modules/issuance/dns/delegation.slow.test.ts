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

describe("a proof whose name leads elsewhere by CNAME", () => {
  test.each([
    ["_acme-challenge.www.locked.test", "www.locked.example.test"],
    ["_acme-challenge.far.locked.test", "far.example.test"],
  ])("%s is written at %s, is visible, and is removed there", async (name, target) => {
    const solver = solverOf(zones);
    await solver.present({ name, value: "delegated" }, never);
    expect(await zones.valuesOf(target)).toEqual(["delegated"]);
    while (!(await solver.isVisible({ name, value: "delegated" }, never)).visible) await Bun.sleep(20);
    await solver.remove({ name, value: "delegated" }, never);
    expect(await zones.valuesOf(target)).toEqual([]);
  });

  test("is removed where it was located, wherever the name leads by then", async () => {
    const solver = solverOf(zones);
    const name = "_acme-challenge.www.locked.test";
    expect(await solver.locate(name, never)).toBe("www.locked.example.test");
    const proof = { name, target: "far.example.test", value: "moved" }; // where it led before
    await solver.present(proof, never);
    expect(await zones.valuesOf("far.example.test")).toEqual(["moved"]);
    expect(await solver.isVisible(proof, never)).toMatchObject({ visible: false, reason: expect.stringContaining("www.locked.example.test") });
    await solver.remove(proof, never);
    expect(await zones.valuesOf("far.example.test")).toEqual([]);
  });

  test.each([
    [
      "_acme-challenge.circle.locked.test",
      "The CNAMEs of _acme-challenge.circle.locked.test lead in a circle: _acme-challenge.circle.locked.test → circle.locked.test → _acme-challenge.circle.locked.test.",
    ],
    ["_acme-challenge.many.locked.test", "_acme-challenge.many.locked.test leads through more than 8 CNAMEs."],
    [
      "_acme-challenge.strange.locked.test",
      "_acme-challenge.strange.locked.test leads to a\\032b.locked.test, which is no name that a record can be written at.",
    ],
  ])("%s: %s", async (name, message) => {
    const solver = solverOf(zones);
    expect(await solver.present({ name, value: "v" }, never).catch((fault) => fault)).toMatchObject({ message, isFinal: true });
    expect(await solver.isVisible({ name, value: "v" }, never)).toEqual({ visible: false, reason: message });
  });

  test("by a wildcard is written at the name itself where followCname is false", async () => {
    const name = "_acme-challenge.www.wild.test";
    const solver = solverOf(zones, { config: { followCname: false } });
    await solver.present({ name, value: "v" }, never);
    expect([await zones.valuesOf(name), await zones.valuesOf("www.locked.example.test")]).toEqual([["v"], []]);
    expect(await solver.isVisible({ name, value: "v" }, never)).toEqual({ visible: true });
    await solver.remove({ name, value: "v" }, never);
    expect(await zones.valuesOf(name)).toEqual([]);
  });
});
