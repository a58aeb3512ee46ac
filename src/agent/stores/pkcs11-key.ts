import { createHash, X509Certificate } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { algorithmOf, type Hash, publicHalfOf, type Signer } from "#x509/signing-request";
import { type Argv, argvOf, hostWord } from "../host/arguments";
import type { Host } from "../host/host";
import { resolvePassword } from "../host/password";
import { runProgram } from "../host/program";
import type { Target } from "../store";
import { explain, listObjects, openToken, PIN, type Token, withScratch } from "./pkcs11-token";

/** The private key with the label, which signs in its token and stays there. It is the operator's: none is made, and a renewal keeps it. */
export async function keyInside(target: Target, host: Host): Promise<Signer> {
  const token = await openToken(target, host);
  const { certificates, keyId } = await listObjects(token, target.alias, host);
  if (keyId === undefined) throw noKey(token, target.alias);
  const own = certificates.find(({ id }) => id === keyId);
  const publicKey = own ? publicHalfOf(new X509Certificate(own.pem).publicKey) : await readPublicKey(token, keyId, host);
  return { publicKey, sign: (data, hash) => signInside(token, keyId, { data, hash, isElliptic: algorithmOf(publicKey).startsWith("ecdsa-") }, host) };
}

export const noKey = ({ module }: Token, alias: string) =>
  new Error(`The token of ${module} has no private key ${alias}, to which the certificate could belong. Make it there with that label first.`);

const readPublicKey = (token: Token, id: string, host: Host) =>
  withScratch(host, async (pathOf) => {
    await run(token, argvOf("--read-object", "--type", "pubkey", "--id", hostWord(id), "--output-file", pathOf("key")), host);
    return new Uint8Array(await readFile(pathOf("key")));
  });

type Signing = { data: Uint8Array; hash: Hash; isElliptic: boolean };

/** Tokens sign digests by ECDSA; RSA hashes by itself. */
const signInside = (token: Token, id: string, { data, hash, isElliptic }: Signing, host: Host) =>
  withScratch(host, async (pathOf) => {
    await writeFile(pathOf("data"), isElliptic ? createHash(hash).update(data).digest() : data);
    const how = isElliptic ? argvOf("--mechanism", "ECDSA", "--signature-format", "openssl") : argvOf("--mechanism", "SHA256-RSA-PKCS");
    await run(token, argvOf("--sign", how, "--id", hostWord(id), "--input-file", pathOf("data"), "--output-file", pathOf("signature")), host);
    return new Uint8Array(await readFile(pathOf("signature")));
  });

async function run({ module, argv, secret }: Token, words: Argv, host: Host) {
  const environment = { [PIN]: await resolvePassword(host, secret.reference) };
  await runProgram(host, argvOf(argv, words), { environment }).catch(explain(module));
}
