import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { curlrc, formatOf } from "#agent/settings/formats";
import { runs } from "../../support/pki/tls-clients";

const words = fc.stringMatching(/^[\x20-\x7e]{1,30}$/);
const check = (property: fc.IProperty<unknown>, numRuns = 500) => fc.assert(property, { numRuns });
const plain = formatOf("/etc/environment");
const shell = formatOf("/venv/bin/activate");
const systemd = formatOf("/etc/systemd/system/x.service.d/ca.conf");

/** What sh has in A after it has read the text. */
async function bySh(text: string, environment: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-sh-"));
  writeFileSync(join(directory, "file"), text);
  const { stdout } = await runs(["/bin/sh", "-c", '. "$1"; printf "%s|" "$A"', "sh", join(directory, "file")], environment);
  rmSync(directory, { recursive: true });
  return stdout.slice(0, -1);
}

describe("formats of settings", () => {
  test("what is written is read back, whatever it is", () => {
    check(
      fc.property(words, (value) => {
        for (const format of [shell, systemd, curlrc]) expect(format.read(format.render("A", value).join("\n"), "A")).toBe(value);
        if (value.includes("'")) expect(() => plain.render("A", value)).toThrow("single quote");
        else expect(plain.read(plain.render("A", value).join("\n"), "A")).toBe(value);
      }),
    );
  });

  test("sh reads the same, and adds to what is set before", async () => {
    await fc.assert(
      fc.asyncProperty(words, async (value) => {
        expect(await bySh(shell.render("A", value).join("\n"))).toBe(value);
        if (!value.includes("'")) expect(await bySh(plain.render("A", value).join("\n"))).toBe(value);
        const added = shell.append?.("A", value).join("\n") ?? "";
        expect([await bySh(added), await bySh(added, { A: "b c" })]).toEqual([value, `b c ${value}`]);
      }),
      { numRuns: 25 },
    );
  });

  test("the last value counts, however others write it, and a comment never does", () => {
    for (const [format, text, value] of [
      [plain, "A=1\nA=/a b\n#A=2\nAB=3\nXA=4\n", "/a b"],
      [plain, "export A = '/a b' # why\r\n", "/a b"],
      [plain, "B=1\n", undefined],
      [shell, 'A=1; export A\nexport A="/a b" # why\n', "/a b"],
      [shell, "A=/a\\ b; export A\n", "/a b"],
      [systemd, '[Service]\nEnvironment=B=1 "A=/a b" C=2\n#Environment=A=3\n', "/a b"],
      [systemd, "Environment='A=1'\nEnvironment=\n", undefined],
      [curlrc, "--A /a\n", "/a"],
      [curlrc, 'A: "/a b" \nAB = 1\n', "/a b"],
      [curlrc, "A\n", ""],
    ] as const)
      expect(format.read(text, "A")).toBe(value);
  });

  test("a file's name shows its format", () => {
    for (const [format, names] of [
      [plain, ["/etc/environment", "/etc/default/ssh", "/etc/x.conf", "/srv/.env", "/etc/environment.d/ca.conf"]],
      [shell, ["/v/bin/activate", "/etc/profile.d/ca.sh", "/root/.bashrc", "/etc/profile", "/x/run.zsh"]],
      [systemd, ["/etc/systemd/system/x.service.d/ca.conf", "/etc/systemd/system/x.service"]],
    ] as const)
      for (const name of names) expect(formatOf(name)).toBe(format);
    for (const name of ["/v/bin/activate.fish", "/v/bin/activate.csh", "/v/bin/Activate.ps1"]) expect(() => formatOf(name)).toThrow("does not write");
  });
});
