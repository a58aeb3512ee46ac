import { dlopen } from "bun:ffi";
import { join } from "node:path";

const NOBODY = 65_534;
const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;

/** Starts a process of another user that exchanges two entries of a directory again and again, until it is ended. */
export async function startSwapping(directory: string, one: string, other: string) {
  const child = Bun.spawn([process.execPath, import.meta.path, join(directory, one), join(directory, other)], {
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  await reader.read(); // it has begun
  return {
    /** Ends it, and answers how often it exchanged them. */
    async stop() {
      await child.stdin.end();
      const { value } = await reader.read();
      await child.exited;
      return Number(new TextDecoder().decode(value));
    },
  };
}

async function swap(one: string, other: string) {
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
  const { symbols } = dlopen("libc.so.6", { renameat2: { args: ["i32", "cstring", "i32", "cstring", "u32"], returns: "i32" } });
  const from = Buffer.from(`${one}\0`);
  const to = Buffer.from(`${other}\0`);
  let isEnding = false;
  void Bun.stdin.text().then(() => {
    isEnding = true;
  });
  console.info("begun");
  let times = 0;
  for (; !isEnding; times++) {
    if (symbols.renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) !== 0) throw new Error(`${one} and ${other} cannot be exchanged`);
    if (times % 100 === 0) await Bun.sleep(0); // the end may have been asked for
  }
  if (times % 2 === 1) symbols.renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
  console.info(times);
}

if (import.meta.main) await swap(String(Bun.argv[2]), String(Bun.argv[3]));
