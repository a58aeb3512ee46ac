import { unlinkSync } from "node:fs";
import { makeRsaKey } from "#crypto/private-keys";

/** Makes an RSA key once its own executable, a copy of Bun, is deleted. Prints the size of the key. */
unlinkSync(process.execPath);
const key = await makeRsaKey(2_048, new AbortController().signal);
console.info(key.asymmetricKeyDetails?.modulusLength);
