import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";

const CURVES: Record<string, string> = { "ecdsa-p256": "P-256", "ecdsa-p384": "P-384" };

/** The whole program of the process that makes an RSA key: its argument is the size, its output the key. It gives way to the server. */
const RSA_PROGRAM = `
  require("node:os").setPriority(10);
  const encoding = { type: "pkcs8", format: "pem" };
  const { privateKey } = require("node:crypto").generateKeyPairSync("rsa", { modulusLength: Number(process.argv[1]), privateKeyEncoding: encoding });
  process.stdout.write(privateKey);`;

/** This same executable, which is Bun; on Linux as it was started, also where an upgrade has moved or deleted its file since. */
const SELF = process.platform === "linux" ? "/proc/self/exe" : process.execPath;

/** Returns a new private key of `ecdsa-p256` or `ecdsa-p384`, which takes no time. */
export function makeEcdsaKey(algorithm: string): KeyObject {
  const namedCurve = CURVES[algorithm];
  if (namedCurve === undefined) throw new Error(`there is no elliptic curve for ${algorithm}`);
  return generateKeyPairSync("ec", { namedCurve }).privateKey;
}

/**
 * Returns a new RSA key. A process of its own makes it, without settings or environment: it takes seconds, threads are shared
 * and cannot be stopped, and `signal` ends a process at once.
 */
export async function makeRsaKey(bits: number, signal: AbortSignal): Promise<KeyObject> {
  signal.throwIfAborted();
  const child = Bun.spawn([SELF, "--no-env-file", "--config=/dev/null", "-e", RSA_PROGRAM, `${bits}`], {
    cwd: "/",
    env: { BUN_BE_BUN: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    signal,
    killSignal: "SIGKILL",
  });
  const [pem, fault, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  signal.throwIfAborted();
  if (code !== 0) throw new Error(`the process that makes an RSA key ended with ${child.signalCode ?? code}: ${fault}`);
  return createPrivateKey(pem);
}
