import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { withoutTools } from "../../support/agent/program-stores";
import { keystoreOf, newHost, newKeystores, TYPES } from "../../support/pki/keystores";
import { type AgentHost, contentOf } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

const { anchor, putKnown, end } = await newKeystores();
afterAll(end);

describe("failed with a sentence that helps, and as it was", () => {
  const type = "java_keystore_pkcs12";
  const failures: [string, (agent: AgentHost) => Desired["config"], string][] = [
    ["an unset variable", () => ({ storePasswordRef: "env:NOBODY_SET_IT" }), "names the environment variable NOBODY_SET_IT, which is not set"],
    ["a missing password file", () => ({ storePasswordRef: "file:/nonexistent/password" }), "names cannot be read"],
    ["a vault", () => ({ storePasswordRef: "vault:secret/store#password" }), "cannot ask a vault"],
    ["a file that is no keystore", ({ pathOf }) => ({ trustStorePath: pathOf("notes") }), "keytool cannot use"],
    ["a directory in its place", ({ pathOf }) => ({ trustStorePath: pathOf("app") }), "is not a plain file"],
    ["a planted link", ({ pathOf }) => ({ trustStorePath: pathOf("link") }), "is a symbolic link"],
    ["a place where nothing can be made", ({ pathOf }) => ({ trustStorePath: pathOf("notes/trust.store") }), "something on the way to it is not a directory"],
    ["a password too short", ({ pathOf }) => ({ trustStorePath: pathOf("new"), storePasswordRef: "env:SHORT" }), "password must be at least 6 characters›."],
    ["a path that is not absolute", () => ({ trustStorePath: "trust.store" }), "config.trustStorePath must be an absolute path"],
  ];

  test.each(failures)("%s", async (_, configOfIt, words) => {
    const agent = await newHost();
    putKnown(agent, type);
    writeFileSync(agent.pathOf("notes"), "notes");
    symlinkSync(keystoreOf(agent).path, agent.pathOf("link"));
    const before = contentOf(agent);
    expect(await agent.pass(anchor(agent, type, configOfIt(agent)))).toMatchObject({ state: "failed", message: expect.stringContaining(words) });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test.each(TYPES)("a wrong password of %s, which is not shown", async (each) => {
    const agent = await newHost();
    putKnown(agent, each);
    const before = contentOf(agent);
    writeFileSync(agent.pathOf("tmp/password"), "wrong-one\n");
    const result = await agent.pass(anchor(agent, each, { storePasswordRef: `file:${agent.pathOf("tmp/password")}` }));
    expect(result?.message).toBe(`The password does not open ${keystoreOf(agent).path}. Correct what config.storePasswordRef leads to.`);
    rmSync(agent.pathOf("tmp/password"));
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("a missing keytool", async () => {
    const agent = await newHost();
    expect(await agent.pass(anchor(agent, type), withoutTools(agent))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("keytool is not installed on this host, or not on the agent's PATH"),
    });
    expect(agent.files()).toEqual([]);
    agent.remove();
  });
});
