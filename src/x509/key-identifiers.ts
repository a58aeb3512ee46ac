import { children, contentOf, context, type Der, DerError, readOne, TAG } from "./der";
import { readExtensions } from "./facts";

/** RFC 5280, 4.2.1.1 and 4.2.1.2, in hexadecimal: a hint which key signed the certificate, and what others call its own. */
type KeyIdentifiers = { subject?: string | undefined; authority?: string | undefined };

/** Returns nothing where there are none, or none that can be read. */
export function readKeyIdentifiers(der: Uint8Array): KeyIdentifiers {
  try {
    const [toBeSigned] = children(readOne(der), TAG.sequence);
    const extension = readExtensions(children(toBeSigned, TAG.sequence).find((each) => each.tag === context(3)));
    const [subject, authority] = [extension("2.5.29.14"), extension("2.5.29.35")];
    const keyId = authority && children(authority, TAG.sequence).find((each) => each.tag === 0x80);
    return { subject: subject && toHex(subject, TAG.octetString), authority: keyId && toHex(keyId, 0x80) };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return {};
  }
}

const toHex = (element: Der, tag: number) => Buffer.from(contentOf(element, tag)).toString("hex");
