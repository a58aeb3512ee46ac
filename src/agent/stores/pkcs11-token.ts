import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toPem } from "#x509/der-writer";
import { type Argv, argvOf, hostWord, serverWord, type Word } from "../host/arguments";
import { type Host, pathOn } from "../host/host";
import { resolvePassword } from "../host/password";
import { ProgramFailure, runProgram } from "../host/program";
import type { Target } from "../store";
import type { Secret } from "../transaction/undo-step";

export const PIN = "CERTITUDE_PIN";

export type Token = { module: string; argv: Argv; secret: Secret };
export type Certificate = { id: string; pem: string };

/** The module's token that the tool takes by itself. */
export function tokenOf({ config }: Target, host: Host): Token {
  const module = pathOn(host, config.trustStorePath ?? "", "trustStorePath");
  const argv = argvOf("pkcs11-tool", "--module", serverWord(module), "--login", "--pin", `env:${PIN}`);
  return { module, argv, secret: { variable: PIN, reference: config.storePasswordRef ?? "" } };
}

/** The one token of the module that is ready for use. */
export async function openToken(target: Target, host: Host): Promise<Token> {
  const token = tokenOf(target, host);
  const { module, argv } = token;
  const slots = initializedSlots((await runProgram(host, argvOf("pkcs11-tool", "--module", serverWord(module), "--list-slots"))).stdout);
  if (slots.length !== 1)
    throw new Error(`${module} has ${slots.length} initialized tokens, and this agent writes where there is one. Name a module with one.`);
  return { ...token, argv: argvOf(argv, "--slot", hostWord(slots.join(""))) };
}

const initializedSlots = (text: string) =>
  text.split(/^(?=Slot )/m).flatMap((slot) => (/token initialized/.test(slot) ? (/^Slot \d+ \((0x[0-9a-f]+)\)/.exec(slot)?.[1] ?? []) : []));

/** The token's objects with the label, of the tool's list. */
const objectsIn = (text: string, alias: string) =>
  text
    .split(/\n(?=\S)/)
    .map((object) => ({
      kind: /^(Certificate|Private Key) Object/.exec(object)?.[1],
      label: /^ +label: +(.*)$/m.exec(object)?.[1],
      id: /^ +ID: +([0-9a-f]+)$/m.exec(object)?.[1] ?? "",
    }))
    .filter(({ label }) => label === alias);

/**
 * Returns the certificate with the label by one run of the tool, enough for a pass without a change. Undefined unless one
 * initialized token has one such certificate; a wrong PIN is not tried again.
 */
export async function readCertificate({ module, argv, secret }: Token, alias: string, host: Host): Promise<Certificate[] | undefined> {
  const environment = { [PIN]: await resolvePassword(host, secret.reference) };
  return readByFile(host, async (file) => {
    const words = argvOf("--list-slots", "--list-objects", "--read-object", "--type", "cert", "--label", serverWord(alias), "--output-file", file);
    const answer = await runProgram(host, argvOf(argv, words), { environment }).catch((error: Error) =>
      isPinFault(error) ? explain(module)(error) : undefined,
    );
    const found = answer && initializedSlots(answer.stdout).length === 1 ? objectsIn(answer.stdout, alias) : [];
    return found.length === 1 && found[0] ? { id: found[0].id } : undefined;
  }).then((certificate) => certificate && [certificate]);
}

/** The certificates with the label, and the id of the private key with it, where there is one. */
export async function listObjects({ module, argv, secret }: Token, alias: string, host: Host) {
  const environment = { [PIN]: await resolvePassword(host, secret.reference) };
  const { stdout } = await runProgram(host, argvOf(argv, "--list-objects"), { environment }).catch(explain(module));
  const own = objectsIn(stdout, alias);
  const certificates: Certificate[] = [];
  for (const { id } of own.filter(({ kind }) => kind === "Certificate")) {
    const words = argvOf("--read-object", "--type", "cert", "--label", serverWord(alias), "--id", hostWord(id), "--output-file");
    const found = await readByFile(host, (file) => runProgram(host, argvOf(argv, words, file), { environment }).then(() => ({ id })));
    if (found) certificates.push(found);
  }
  return { certificates, keyId: own.find(({ kind }) => kind === "Private Key")?.id };
}

/** The tool writes bytes, so they go by a file. Returns undefined where `write` says that it holds nothing of use. */
const readByFile = (host: Host, write: (file: Word) => Promise<{ id: string } | undefined>): Promise<Certificate | undefined> =>
  withScratch(host, async (pathOf) => {
    const written = await write(pathOf("certificate"));
    return written && { ...written, pem: toPem("CERTIFICATE", await readFile(pathOf("certificate"))) };
  });

/** Lends a directory for what the tool reads from files and writes to them. */
export async function withScratch<Result>(host: Host, use: (pathOf: (name: string) => Word) => Promise<Result>) {
  const directory = await mkdtemp(join(host.environment.TMPDIR ?? tmpdir(), "certitude-agent-"));
  try {
    return await use((name) => hostWord(join(directory, name)));
  } finally {
    await rm(directory, { recursive: true });
  }
}

const isPinFault = (error: Error) => error instanceof ProgramFailure && /CKR_PIN_(INCORRECT|LEN_RANGE|INVALID)/.test(error.output.stderr);

export const explain =
  (module: string) =>
  (error: Error): never => {
    if (isPinFault(error))
      throw new Error(`The PIN does not open the token of ${module}. Correct what config.storePasswordRef leads to, before the token locks itself.`);
    throw error;
  };
