import { describe, expect, test } from "bun:test";
import { queryOf } from "#console/app/pages/ai-systems/ranges";
import { settingsBody, settingsFields } from "#console/app/pages/connections/settings";
import { boxAfterKey, cellsOf, moveBox, sizeBox } from "#console/app/pages/dashboards/placing";
import { widgetBody } from "#console/app/pages/dashboards/settings";
import { rangeChange, sharedDays } from "#console/app/pages/dashboards/time-range";
import type { Widget } from "#console/app/pages/dashboards/types";
import { piecesOf } from "#console/app/pages/knowledge/highlight";
import { sizeOf } from "#console/app/pages/knowledge/size";
import { connectionKinds } from "#modules/core/connectors/rules/kind-schemas";

describe("the form of a connection", () => {
  test("every secret of every kind is hidden", () => {
    for (const kind of connectionKinds) {
      const secrets = settingsFields(kind).filter(({ name }) => name.startsWith("secrets."));
      expect(secrets.map(({ name }) => name)).toEqual(Object.keys(kind.secrets.properties ?? {}).map((name) => `secrets.${name}`));
      for (const { kind: shown } of secrets) expect(["password", "secret"]).toContain(shown);
    }
  });
  test("a secret that is stored need not be written again", () => {
    const digicert = connectionKinds.find(({ kind }) => kind === "digicert_certcentral");
    if (!digicert) throw new Error("The kind is gone.");
    expect(settingsFields(digicert).find(({ name }) => name === "secrets.apiKey")?.required).toBe(true);
    expect(settingsFields(digicert, ["apiKey"]).find(({ name }) => name === "secrets.apiKey")?.required).toBe(false);
  });
  test("what was emptied is removed, what is empty is not sent", () =>
    expect(settingsBody({ name: "It", "config.url": "https://a.example", "config.events": [], "secrets.token": "t" }, { url: "x", region: "eu" })).toEqual({
      name: "It",
      config: { url: "https://a.example", region: null },
      secrets: { token: "t" },
    }));
});

describe("a widget's settings", () => {
  test("one AI system is sent as a list, and what was emptied is removed", () =>
    expect(widgetBody({ title: "T", dashboard: "main", "settings.systemIds": ["s1", "s2"], "settings.metrics": [] }, { metrics: ["a"], title: "T" })).toEqual({
      title: "T",
      dashboard: "main",
      settings: { systemIds: ["s1", "s2"], metrics: null },
    }));
});

describe("placing widgets", () => {
  const box = { x: 8, y: 0, width: 4, height: 4 };
  test("a box stays within the grid", () => {
    expect(moveBox(box, 3, -2)).toEqual(box);
    expect(sizeBox(box, 3, 40)).toEqual({ ...box, height: 24 });
    expect(sizeBox(box, -9, -9)).toEqual({ ...box, width: 1, height: 1 });
  });
  test("arrows move, with Shift they size, other keys do neither", () => {
    expect(boxAfterKey(box, "ArrowLeft", false)).toEqual({ ...box, x: 7 });
    expect(boxAfterKey(box, "ArrowUp", true)).toEqual({ ...box, height: 3 });
    expect(boxAfterKey(box, "Tab", false)).toBeUndefined();
  });
  test("pixels are whole columns and rows", () => expect(cellsOf([101, -93], 1_184)).toEqual([1, -1]));
});

describe("the time range of a dashboard", () => {
  const widget = (settings: Record<string, unknown>): Pick<Widget, "kind" | "settings"> => ({ kind: "agent_health", settings });
  const kinds = [{ kind: "agent_health" as const, settings: { properties: { rangeHours: { maximum: 720 } } } }];
  test("days and hours are compared; widgets without a range do not count", () => {
    expect(sharedDays([widget({ rangeHours: 168 }), widget({ horizonDays: 7 }), widget({ limit: 5 })])).toBe(7);
    expect(sharedDays([widget({ rangeHours: 24 }), widget({ rangeDays: 7 })])).toBeUndefined();
  });
  test("a widget goes as far as its kind allows", () => {
    expect(rangeChange(widget({ rangeHours: 24 }), kinds, 7)).toEqual({ rangeHours: 168 });
    expect(rangeChange(widget({ rangeHours: 24 }), kinds, 365)).toEqual({ rangeHours: 720 });
    expect(rangeChange(widget({ rangeHours: 720 }), kinds, 365)).toBeUndefined();
    expect(rangeChange(widget({ limit: 5 }), kinds, 7)).toBeUndefined();
  });
});

describe("passages", () => {
  test("marks become pieces, and escaped markup is text once more", () =>
    expect(piecesOf("a &lt;img&gt; <mark>key &amp; lock</mark>\n&amp;lt;")).toEqual([
      { text: "a <img> ", isFound: false },
      { text: "key & lock", isFound: true },
      { text: "\n&lt;", isFound: false },
    ]));
});

test("bytes for people", () => expect([0, 199, 1_536, 52_428_800].map(sizeOf)).toEqual(["0 B", "199 B", "1.5 KB", "50 MB"]));
test("a range ends now", () =>
  expect(queryOf("24h", new Date("2026-11-23T12:00:00Z"))).toEqual({ from: "2026-11-22T12:00:00.000Z", to: "2026-11-23T12:00:00.000Z", step: 900 }));
