import { getServers } from "node:dns";
import { writeFileSync } from "node:fs";
import { createLookups } from "#modules/issuance/dns/services/lookups";
import { lookupFor } from "#outbound/lookup";

/** Looks a name up before and after /etc/resolv.conf names another server. Prints the addresses, and what the module's own look-ups ask. */
const QUESTION = 12;
const lookUp = lookupFor({ allowPrivate: true });

/** A name server that says of every name that it leads to `address`. */
async function answerWith(hostname: string, address: number[]) {
  await Bun.udpSocket<"buffer">({
    hostname,
    binaryType: "buffer",
    port: 53,
    socket: {
      data(socket, query, port, from) {
        const end = query.indexOf(0, QUESTION) + 5;
        const isA = query.readUInt16BE(end - 4) === 1;
        const head = Buffer.concat([query.subarray(0, 2), Buffer.from([0x81, 0x80, 0, 1, 0, isA ? 1 : 0, 0, 0, 0, 0])]);
        const record = Buffer.from([0xc0, QUESTION, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address]);
        socket.send(Buffer.concat([head, query.subarray(QUESTION, end), ...(isA ? [record] : [])]), port, from);
      },
    },
  });
}

const find = (name: string) => new Promise((resolve, reject) => lookUp(name, { family: 0 }, (error, address) => (error ? reject(error) : resolve(address))));

await answerWith("127.0.0.99", [192, 0, 2, 1]);
await answerWith("127.0.0.98", [192, 0, 2, 2]);
const before = await find("a.example.com");
writeFileSync("/etc/resolv.conf", "# another network\nnameserver 127.0.0.98\n");
createLookups({ config: {}, allowPrivate: true });
const servers = getServers();
const after = await find("b.example.com");
writeFileSync("/etc/resolv.conf", "");
createLookups({ config: {}, allowPrivate: true });
console.info(JSON.stringify({ before, after, servers, none: getServers() }));
process.exit();
