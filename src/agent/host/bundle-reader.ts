import { sha256 } from "#crypto/sha256";
import { argvOf, serverWord } from "./arguments";
import { readOnce } from "./entries";
import { readSnapshot } from "./files";
import type { Host } from "./host";
import { ProgramFailure, runProgram } from "./program";

/**
 * Throws where OpenSSL cannot load the whole bundle, for then its programs trust nothing of it. What is as it was when it was last loaded
 * is not loaded again; a host without the program proves nothing.
 */
export async function expectLoads(bundle: string, host: Host) {
  const { PATH } = host.environment;
  if (!Bun.which("openssl", PATH === undefined ? {} : { PATH })) return;
  const found = await readSnapshot(bundle);
  await readOnce(host, `${bundle} loaded`, sha256(found?.base64 ?? ""), async () => {
    await runProgram(host, argvOf("openssl", "crl2pkcs7", "-nocrl", "-certfile", serverWord(bundle), "-out", "/dev/null")).catch((error: Error) => {
      if (!(error instanceof ProgramFailure)) throw error;
      throw new Error(
        `OpenSSL, and with it whatever reads ${bundle}, cannot load it: one of its certificates is damaged. Find it among those that other programs have put there.`,
      );
    });
    return [];
  });
}
