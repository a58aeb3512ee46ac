import { argvOf, serverWord } from "../host/arguments";
import type { User } from "../host/program";
import { writeTemp } from "../host/temp-dir";
import type { Transaction } from "../transaction/transaction";

type Contents = { name: string; certificates: string[]; privateKey: string };

/**
 * Puts a private key and its certificates into a PKCS12 file for a tool to import. The key reaches the disk only under a
 * password of this moment.
 */
export async function writePkcs12(transaction: Transaction, { name, certificates, privateKey }: Contents, user?: User) {
  const password = crypto.randomUUID();
  const path = await writeTemp(await transaction.tempDirectory(), "", user);
  await transaction.run(argvOf("openssl", "pkcs12", "-export", "-name", serverWord(name), "-passout", "env:CERTITUDE_PASSWORD", "-out", path), {
    input: [privateKey.trimEnd(), ...certificates].join("\n"),
    environment: { CERTITUDE_PASSWORD: password },
  });
  return { path, password };
}
