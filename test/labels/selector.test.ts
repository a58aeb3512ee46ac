import { describe, expect, test } from "bun:test";
import { compileSelector } from "#labels/selector";

const pathOf = (selector: string) => {
  const compiled = compileSelector(selector);
  return "path" in compiled ? compiled.path : compiled.fault;
};

describe("a selector", () => {
  test.each([
    ["env=prod", '($."env" == "prod")'],
    ["env==prod", '($."env" == "prod")'],
    [" env = prod ", '($."env" == "prod")'],
    ["tier!=edge", '!($."tier" == "edge")'],
    ["zone in (a,b)", '($."zone" == "a" || $."zone" == "b")'],
    ["zone in(a , b)", '($."zone" == "a" || $."zone" == "b")'],
    ["region notin (x)", '!($."region" == "x")'],
    ["has", 'exists($."has")'],
    ["!absent", '!exists($."absent")'],
    ["! absent", '!exists($."absent")'],
    ["in in (in,notin)", '($."in" == "in" || $."in" == "notin")'],
    ["notin", 'exists($."notin")'],
    ["a=1,!b,c", '($."a" == "1") && !exists($."b") && exists($."c")'],
    ['a=x"||true||"y', '($."a" == "x\\"||true||\\"y")'],
    ["a=b\\", '($."a" == "b\\\\")'],
    ["a=Zürich/1.2:3_4", '($."a" == "Zürich/1.2:3_4")'],
  ])("%s is read", (selector, path) => {
    expect(pathOf(selector)).toBe(path);
  });

  const where = (found: string, expected: string) => `cannot be read: ${found} where ${expected} should be.`;
  test.each([
    ["", where("it ends", "a key")],
    [",", where('"," is at character 1', "a key")],
    ["env=prod,", where("it ends", "a key")],
    ["env=", where("it ends", "a value")],
    ["env=,a", where('"," is at character 5', "a value")],
    ["=prod", where('"=" is at character 1', "a key")],
    ["env===prod", where('"=" is at character 6', "a value")],
    ["env=a=b", where('"=" is at character 6', "a comma or the end")],
    ["a b", where('"b" is at character 3', "a comma or the end")],
    ["a>1", where('">" is at character 2', "a comma or the end")],
    ["zone in", where("it ends", '"("')],
    ["zone in a", where('"a" is at character 9', '"("')],
    ["zone in ()", where('")" is at character 10', "a value")],
    ["zone in (a", where("it ends", 'a comma or ")"')],
    ["zone in (a,)", where('")" is at character 12', "a value")],
    ["zone in (a b)", where('"b" is at character 12', 'a comma or ")"')],
    ["!a=b", where('"=" is at character 3', "a comma or the end")],
    ["!!a", where('"!" is at character 2', "a key")],
    ["!", where("it ends", "a key")],
    ["Env=prod", 'names the key "Env", but a key is 1 to 63 lower-case letters'],
    ["-a", 'names the key "-a", but'],
    ["a-=1", 'names the key "a-", but'],
    [`${"k".repeat(64)}=1`, "but a key is 1 to 63"],
    ["example.org/env=1", 'names the key "example.org/env", but'],
    [`a=${"v".repeat(64)}`, "names a value of over 63 characters, which no label has"],
    [Array.from({ length: 51 }, (_, index) => `k${index}`).join(","), "has more than 50 requirements"],
  ])("%s is refused", (selector, fault) => {
    expect(pathOf(selector)).toStartWith(fault.startsWith("but") ? "names the key" : fault);
    expect(pathOf(selector)).toContain(fault);
  });

  test("of the longest form is read at once", () => {
    const values = Array.from({ length: 900 }, () => "v").join(",");
    expect(pathOf(`a in (${values})`)).toContain('$."a" == "v" || ');
  });
});
