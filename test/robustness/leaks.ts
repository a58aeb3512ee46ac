import { environment, JWT_SECRET, WORKER_KEY, world } from "../support/server/world";

const SECRETS = [JWT_SECRET, WORKER_KEY, environment.SECRETS_KEY, world.directory];

const LEAKS = [
  /\b(relation|column|constraint|operator|function|type) "/,
  /syntax error|input syntax|byte sequence|violates|duplicate key|SQLSTATE|PostgresError|out of range for type/i,
  /\b(select|insert|update|delete)\b.*\b(from|into|set|where)\b/i,
  /\bat .+:\d+:\d+/,
  /\.(ts|js|sql):\d+/,
  /node_modules|\/src\/|\/tmp\/|\$bunfs/,
  /\b(undefined|NaN|\[object)\b/,
  /\b(TypeError|RangeError|SyntaxError|Error:)/,
];

/** What a message says that it must not, or that it says nothing. */
export function findLeak(message: unknown) {
  if (typeof message !== "string" || message.trim() === "") return `no message: ${JSON.stringify(message)}`;
  if (message.length > 2_000) return `a message of ${message.length} characters`;
  if (!/[.?!]$/.test(message)) return `no sentence: ${message}`;
  const leak = SECRETS.find((each) => message.includes(each)) ?? LEAKS.find((each) => each.test(message));
  return leak && `${leak} in: ${message}`;
}
