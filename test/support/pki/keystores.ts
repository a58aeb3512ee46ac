import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import { desired } from "../agent/agent-host";
import { newToolHost } from "../agent/program-stores";
import { newParties, type Parties } from "../agent/store-behaviour";
import { keytool, newJava } from "./java";
import type { AgentHost } from "./tls-clients";

const PASSWORD = "not the shipped one";
export const FORMATS = { java_cacerts: "JKS", java_keystore_jks: "JKS", java_keystore_pkcs12: "PKCS12" };
type Type = keyof typeof FORMATS;
export const TYPES: Type[] = ["java_cacerts", "java_keystore_jks", "java_keystore_pkcs12"];

export const newHost = (directory?: string) => newToolHost({ STORE_PASSWORD: PASSWORD, SHORT: "short" }, directory);

export const keystoreOf = (agent: AgentHost, name = "app/trust.store") => ({ path: agent.pathOf(name), password: PASSWORD });
export const configOf = (agent: AgentHost, more: Desired["config"] = {}) => ({
  trustStorePath: agent.pathOf("app/trust.store"),
  storePasswordRef: "env:STORE_PASSWORD",
  alias: "corp",
  ...more,
});

export const importAs = (agent: AgentHost, alias: string, pem: string) => keytool(keystoreOf(agent), "-importcert", ["-noprompt", "-alias", alias], pem);
export const deleteFrom = (agent: AgentHost, alias: string) => keytool(keystoreOf(agent), "-delete", ["-alias", alias]);
export const aliasesIn = async (agent: AgentHost) =>
  [...(await keytool(keystoreOf(agent), "-list", ["-rfc"])).matchAll(/^Alias name: (.+)$/gm)].map(([, alias]) => alias).toSorted();

/** Makes keystores of another owner who trusts the known authority; in one of them a second time, under the alias that the agent uses. */
async function newTemplates({ known }: Parties) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-keystores-"));
  for (const format of ["JKS", "PKCS12"]) {
    const keystore = { path: join(directory, format), password: PASSWORD };
    await keytool(keystore, "-importcert", ["-noprompt", "-alias", "known", "-storetype", format], known.root.pem);
    copyFileSync(keystore.path, `${keystore.path}-corp`);
    await keytool({ ...keystore, path: `${keystore.path}-corp` }, "-importcert", ["-noprompt", "-alias", "corp"], known.intermediate.pem);
  }
  return directory;
}

/** Two authorities with a server of each, Java, and keystores that are there before the agent comes. */
export async function newKeystores() {
  const [parties, java] = await Promise.all([newParties(), newJava()]);
  const templates = await newTemplates(parties);

  return {
    ...parties,
    java,
    anchor: (agent: AgentHost, trustStoreType: Type, more: Desired["config"] = {}) =>
      desired(parties.authority.root, { trustStoreType, config: configOf(agent, more) }),
    isTrusting: (agent: AgentHost, url = parties.server.url) => java.trusts(url, keystoreOf(agent)),
    putKnown(agent: AgentHost, type: Type, more: "" | "-corp" = "") {
      mkdirSync(agent.pathOf("app"), { recursive: true });
      copyFileSync(join(templates, FORMATS[type] + more), keystoreOf(agent).path);
      chmodSync(keystoreOf(agent).path, 0o640);
    },
    async end() {
      await parties.end();
      java.remove();
      rmSync(templates, { recursive: true });
    },
  };
}
