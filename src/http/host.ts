import { isIPv4 } from "node:net";
import { remember } from "#runtime/remember";

/** A name or an address, and a port: RFC 3986, 3.2.2, without percent-encoding. */
const SHAPE = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]{1,254})(:\d{0,5})?$/i;
/** RFC 1123, 2.1, and the underscore that container platforms put into names. */
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i;
/** The last label of an address (WHATWG URL, 3.5.2): some clients read "127.1" and "0x7f.1" as one too. */
const NUMBER = /^(\d+|0x[0-9a-f]*)$/i;

/** Returns true for the value of a `Host` header that names one host. What comes twice arrives comma-joined, and is none. */
export const isHost = remember((value) => {
  const name = SHAPE.exec(value)?.[1];
  return name !== undefined && (name.startsWith("[") || isIPv4(name) || isName(name)) && URL.canParse(`http://${value}`);
});

function isName(name: string) {
  const labels = name.replace(/\.$/, "").split(".");
  return name.length <= (name.endsWith(".") ? 254 : 253) && labels.every((each) => LABEL.test(each)) && !NUMBER.test(labels.at(-1) ?? "");
}
