import type { Config } from "#config";
import { readTlsPair, type TlsFiles } from "#crypto/tls-files";
import { readName } from "#modules/issuance/issuing/rules/names";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";

/** Returns the names by which clients reach this server, as certificates write them: of PUBLIC_URL, and of the certificate of TLS_CERT. */
export function ownNames({ publicUrl, tls }: Pick<Config, "publicUrl" | "tls">) {
  const host = publicUrl === undefined ? [] : [new URL(publicUrl).hostname.replace(/^\[|\]$/g, "")];
  const names = [...host, ...(tls ? servedNames(tls) : [])].flatMap((each) => {
    const name = readName(each);
    return "fault" in name ? [] : name.value;
  });
  return [...new Set(names)];
}

const lastRead = new WeakMap<TlsFiles, string[]>();

/** The names of the certificate that is served: while its files cannot be read, which the listener logs, that is the former one. */
function servedNames(files: TlsFiles) {
  try {
    const [block] = readPem(readTlsPair(files).cert);
    if (!block || "fault" in block) throw new Error(`${files.certFile} holds no certificate`);
    const { commonName, facts } = parseCertificate(block.bytes);
    lastRead.set(files, [commonName, ...facts.subjectAlternativeNames.dns, ...facts.subjectAlternativeNames.ip]);
  } catch (error) {
    if (!lastRead.has(files)) throw error;
  }
  return lastRead.get(files) ?? [];
}
