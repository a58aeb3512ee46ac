import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { bits, generalizedTime, octets, oid, sequence, tagged, toPem } from "#x509/der-writer";

const yes = Buffer.from([0x01, 0x01, 0xff]);

const OID = {
  commonName: "550403",
  organization: "55040a",
  ecdsaWithSha256: "2a8648ce3d040302",
  basicConstraints: "551d13",
  keyUsage: "551d0f",
  alternativeName: "551d11",
  extendedKeyUsage: "551d25",
  serverAuth: "2b06010505070301",
};
const attribute = (type: string, value: string) => tagged(0x31, sequence(oid(type), tagged(0x0c, Buffer.from(value))));
const extension = (type: string, critical: boolean, value: Uint8Array) => sequence(oid(type), ...(critical ? [yes] : []), octets(value));

export type Minted = { pem: string; privateKey: KeyObject; name: Buffer };
type Wish = {
  commonName: string;
  organization?: string;
  issuer?: Minted;
  key?: Pick<Minted, "privateKey">;
  isCa?: boolean;
  dns?: string[];
  notBefore: Date;
  notAfter: Date;
};

/** Makes a certificate on a fresh P-256 key, unless one is given, signed by `issuer` or by itself. Dates are kept to the second. */
export function mint({ commonName, organization = "Certitude Demo", issuer, key, isCa = false, dns = [], notBefore, notAfter }: Wish): Minted {
  const { privateKey } = key ?? generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKey = createPublicKey(privateKey);
  const name = sequence(attribute(OID.organization, organization), attribute(OID.commonName, commonName));
  const algorithm = sequence(oid(OID.ecdsaWithSha256));
  const serial = Buffer.from(crypto.getRandomValues(new Uint8Array(16)));
  serial[0] = (serial.readUInt8(0) & 0x3f) | 0x40;
  const extensions = [
    extension(OID.basicConstraints, true, isCa ? sequence(yes) : sequence()),
    extension(OID.keyUsage, true, isCa ? Buffer.from([3, 2, 1, 0x06]) : Buffer.from([3, 2, 7, 0x80])),
    ...(isCa ? [] : [extension(OID.extendedKeyUsage, false, sequence(oid(OID.serverAuth)))]),
    ...(dns.length > 0 ? [extension(OID.alternativeName, false, sequence(...dns.map((each) => tagged(0x82, Buffer.from(each)))))] : []),
  ];
  const toBeSigned = sequence(
    tagged(0xa0, Buffer.from([2, 1, 2])),
    tagged(0x02, serial),
    algorithm,
    issuer?.name ?? name,
    sequence(generalizedTime(notBefore), generalizedTime(notAfter)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const signature = sign("sha256", toBeSigned, issuer?.privateKey ?? privateKey);
  return { pem: toPem("CERTIFICATE", sequence(toBeSigned, algorithm, bits(signature))), privateKey, name };
}
