import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readPolicyFile, writePolicyFile } from "#agent/policy/file";

setDefaultTimeout(300_000);

const STRANGER = 65_534;
const POLICY = { privateKeys: true };

let directory: string;
let path: string;
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "certitude-policy-")));
  mkdirSync(join(directory, "etc"), { mode: 0o755 });
  path = join(directory, "etc/policy.json");
  writeFileSync(path, JSON.stringify(POLICY), { mode: 0o644 });
});
afterEach(() => rmSync(directory, { recursive: true }));

const faulty = (...words: string[]) => ({ faults: words.map((each) => expect.stringContaining(each)) });
const isRoot = process.getuid?.() === 0;

describe("a policy file", () => {
  test("counts if it and its directories are root's or the agent's own; none is no fault", async () => {
    expect(await readPolicyFile(path)).toEqual({ policy: POLICY });
    expect(await readPolicyFile(join(directory, "etc/other.json"))).toBeUndefined();
    expect(await readPolicyFile(join(directory, "none/other.json"))).toBeUndefined();
  });

  test.each([0o664, 0o646, 0o666, 0o777])("that others may write (%o) does not count", async (mode) => {
    chmodSync(path, mode);
    expect(await readPolicyFile(path)).toEqual(faulty(`${path} may be written by other users, so that it proves nothing: chmod go-w ${path}`));
  });

  test("in a directory that every user may write in does not count; in a sticky one it does", async () => {
    chmodSync(join(directory, "etc"), 0o777);
    expect(await readPolicyFile(path)).toEqual(faulty(`Other users may write in ${join(directory, "etc")}, on the way to the policy: chmod go-w`));
    chmodSync(join(directory, "etc"), 0o1777);
    expect(await readPolicyFile(path)).toEqual({ policy: POLICY });
  });

  test("that is a directory, too big, no JSON or misspelled does not count, and says why with its name", async () => {
    expect(await readPolicyFile(join(directory, "etc"))).toEqual(faulty("is not a plain file."));
    writeFileSync(path, " ".repeat(1024 * 1024 + 1));
    expect(await readPolicyFile(path)).toEqual(faulty("has over 1 MiB"));
    writeFileSync(path, "privateKeys: true");
    expect(await readPolicyFile(path)).toEqual(faulty(`${path}: It is not JSON (`));
    writeFileSync(path, '{"privateKey": true, "reload": []}');
    expect(await readPolicyFile(path)).toEqual(faulty(`${path}: privateKey is not a field of a policy. Did you mean privateKeys?`, "Did you mean reloads?"));
  });

  test("that is a pipe is not waited for", async () => {
    rmSync(path);
    await Bun.$`mkfifo ${path}`.quiet();
    expect(await readPolicyFile(path)).toEqual(faulty("is not a plain file."));
  });

  test("by a link of its own is followed to where no other user may write; links in a circle end", async () => {
    symlinkSync(path, join(directory, "link.json"));
    expect(await readPolicyFile(join(directory, "link.json"))).toEqual({ policy: POLICY });
    symlinkSync("etc", join(directory, "relative"));
    expect(await readPolicyFile(join(directory, "relative/policy.json"))).toEqual({ policy: POLICY });
    mkdirSync(join(directory, "open"));
    writeFileSync(join(directory, "open/policy.json"), "{}");
    chmodSync(join(directory, "open"), 0o777);
    symlinkSync(join(directory, "open"), join(directory, "to-open"));
    expect(await readPolicyFile(join(directory, "to-open/policy.json"))).toEqual(faulty(`Other users may write in ${join(directory, "open")}`));
    symlinkSync(join(directory, "b"), join(directory, "a"));
    symlinkSync(join(directory, "a"), join(directory, "b"));
    expect(await readPolicyFile(join(directory, "a"))).toEqual(faulty("is reached by too many links"));
  });

  if (isRoot)
    test("of another user, in a directory of one, or by a link of one does not count", async () => {
      chownSync(path, STRANGER, STRANGER);
      expect(await readPolicyFile(path)).toEqual(faulty(`${path} belongs to the user with the id ${STRANGER}, not to root or the agent's own user.`));
      chownSync(path, 0, 0);
      chownSync(join(directory, "etc"), STRANGER, STRANGER);
      expect(await readPolicyFile(path)).toEqual(faulty(`${join(directory, "etc")}, on the way to the policy, belongs to the user with the id ${STRANGER}`));
      chownSync(join(directory, "etc"), 0, 0);
      symlinkSync(path, join(directory, "planted"));
      lchownSync(join(directory, "planted"), STRANGER, STRANGER);
      expect(await readPolicyFile(join(directory, "planted"))).toEqual(faulty("is a link that belongs to the user with the id"));
      chownSync(join(directory, "etc"), 0, STRANGER);
      chmodSync(join(directory, "etc"), 0o775);
      expect(await readPolicyFile(path)).toEqual(faulty("Other users may write in"));
    });

  test("is written whole, with its directory, open to readers and to no other writer, and keeps its owner", async () => {
    const made = join(directory, "new/deep/policy.json");
    await writePolicyFile(made, { directories: ["/a"] });
    expect(await readPolicyFile(made)).toEqual({ policy: { directories: ["/a"] } });
    expect(statSync(made).mode & 0o777).toBe(0o644);
    expect(readdirSync(join(directory, "new/deep"))).toEqual(["policy.json"]);
    chmodSync(path, 0o600);
    if (isRoot) chownSync(path, STRANGER, STRANGER);
    await writePolicyFile(path, POLICY);
    expect([statSync(path).uid, statSync(path).mode & 0o777]).toEqual([isRoot ? STRANGER : (process.getuid?.() ?? 0), 0o644]);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(POLICY);
  });
});
