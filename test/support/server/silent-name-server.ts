import { send } from "#outbound/http-client";
import { openSockets } from "#outbound/sockets";

/**
 * Looks many names up, whose name server never answers. Prints how many have ended once this process has verified something in
 * its threads.
 */
const socket = await Bun.udpSocket({ hostname: "127.0.0.99", port: 53, socket: { data() {} } });
const signal = new AbortController().signal;
let ended = 0;
const lookUps = [true, false].flatMap((allowPrivate) =>
  Array.from({ length: 8 }, (_, index) => [
    send({ method: "GET", url: new URL(`http://a${index}.example.com/`), headers: {} }, { allowPrivate, signal }),
    openSockets({ host: `b${index}.example.com`, port: 25 }, { allowPrivate, signal }).open(),
  ]),
);
for (const each of lookUps.flat()) void each.catch(() => ended++);
await Bun.sleep(0);
const key = await crypto.subtle.importKey("raw", new Uint8Array(32), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
await crypto.subtle.sign("HMAC", key, new Uint8Array(1));
console.info(JSON.stringify({ ended, of: lookUps.flat().length }));
socket.close();
process.exit();
