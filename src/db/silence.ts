import type { Duplex } from "node:stream";

const READY = 6;
/** True for the message that ends every answer, ReadyForQuery. */
const isReady = (tail: Buffer) => tail.length === READY && tail[0] === "Z".charCodeAt(0) && tail.readUInt32BE(1) === 5;

/**
 * Calls `giveUp` when a write has no answer for `silence` ms (0: never): a frozen server enforces no time-out. The timer goes
 * on between statements, because a new one for each would cost more.
 */
export function watchSilence(socket: Duplex, silence: number, giveUp: () => void) {
  const { write } = socket;
  let waitingSince: number | undefined;
  let timer: Timer | undefined;
  let tail: Buffer = Buffer.alloc(0);
  const check = () => {
    timer = undefined;
    if (waitingSince === undefined) return;
    const left = waitingSince + silence - performance.now();
    if (left > 0) timer = setTimeout(check, left);
    else giveUp();
  };
  socket.write = (...args: unknown[]) => {
    waitingSince ??= performance.now();
    if (silence > 0) timer ??= setTimeout(check, silence);
    return Reflect.apply(write, socket, args);
  };
  socket.on("data", (chunk: Buffer) => {
    if (waitingSince === undefined) return;
    tail = chunk.length < READY ? Buffer.concat([tail, chunk]).subarray(-READY) : chunk.subarray(-READY);
    waitingSince = isReady(tail) ? undefined : performance.now();
  });
  return {
    isWaiting: () => waitingSince !== undefined,
    end() {
      clearTimeout(timer);
      socket.write = write;
    },
  };
}
