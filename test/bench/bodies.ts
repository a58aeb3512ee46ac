import { refuseDoubledKeys } from "#http/json-keys";
import { median } from "./measure";

const HELP = `bun run bench:bodies

What does the look for fields that are sent twice add to the reading of a body? Prints the CPU time of decoding and parsing, and of the look,
for bodies as they are sent, and for a large one that has such a field.`;

const ROUNDS = 15;
/** Bytes to read in a round. */
const VOLUME = 8 * 1024 * 1024;

const sample = (index: number) => ({
  metric: "accuracy",
  value: index / 7,
  unit: "ratio",
  recordedAt: "2030-01-31T12:00:00.000Z",
  labels: { region: "eu-1", model: "v2" },
});
const samples = (count: number) => ({ system: "loan-scoring", samples: Array.from({ length: count }, (_, index) => sample(index)) });
const PEM = `-----BEGIN CERTIFICATE-----\n${`${"MIIBvDCCAWKgAwIBAgIQUA1vDOaUQXRxuMa+OOoZYjAKBggqhkjOPQQDAjAtMRsw".slice(0, 64)}\n`.repeat(30)}-----END CERTIFICATE-----\n`;
const SENT = {
  "a widget": { kind: "expiring_certificates_timeline", title: "What expires", settings: { days: 90 }, position: { x: 0, y: 0, width: 6, height: 4 } },
  "100 samples": samples(100),
  "10,000 samples": samples(10_000),
  "8 MiB of certificates": { pem: PEM.repeat(4_000) },
};
const decoder = new TextDecoder("utf-8", { fatal: true });

async function bench() {
  for (const [name, sent] of Object.entries(SENT)) {
    const bytes = new TextEncoder().encode(JSON.stringify(sent));
    const keys = countKeys(sent);
    const times = Math.max(1, Math.round(VOLUME / bytes.length));
    const parsing: number[] = [];
    const looking: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      parsing.push(await cpuOf(times, () => JSON.parse(decoder.decode(bytes))));
      looking.push(await cpuOf(times, () => refuseDoubledKeys(bytes, keys)));
    }
    const [parse, look] = [median(parsing), median(looking)];
    console.info(`${name} (${bytes.length} bytes): parsing ${format(parse)}, the look ${format(look)}, which is ${Math.round((100 * look) / parse)} % of it`);
  }
  const doubled = new TextEncoder().encode(`{"all":${JSON.stringify(samples(50_000))},"all":1}`);
  const refused = await cpuOf(1, () => refuseDoubledKeys(doubled, 0).catch(() => {}));
  console.info(`a field sent twice at the end of ${doubled.length} bytes: ${format(refused)}`);
}

const format = (microseconds: number) => (microseconds < 1_000 ? `${microseconds.toFixed(2)} µs` : `${(microseconds / 1_000).toFixed(1)} ms`);

/** In µs, for each time. */
async function cpuOf(times: number, run: () => unknown) {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function countKeys(value: unknown): number {
  if (value === null || typeof value !== "object") return 0;
  return Object.values(value).reduce((sum, each) => sum + countKeys(each), Array.isArray(value) ? 0 : Object.keys(value).length);
}

if (Bun.argv.includes("--help")) console.info(HELP);
else await bench();
