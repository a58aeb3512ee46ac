import { write, writeSync } from "node:fs";

/** Characters of lines that are written at once: a write for each would cost more than the line. */
const BATCH = 64_000;
/** Bytes that a pipe takes whole from one of several writers (PIPE_BUF on Linux). */
const SHARED_PIECE = 4_096;
/** Milliseconds that a line waits for others. */
const MAX_DELAY = 100;
const RETRY_MS = 100;
/** Milliseconds that a process that crashes gives the write under way, which would be cut off. */
const LAST_WRITE_MS = 50;
/** Characters that may wait for a reader who takes none. */
const MAX_WAITING = 32_000_000;
const WARN = 40;

/**
 * Returns a batching destination for log lines; lost lines are counted and logged, and the rest is written at exit. With
 * `isShared`, each write is whole lines of at most 4 KiB, or one line.
 */
export function createLogOutput(fd: number, isShared = false) {
  let waiting = "";
  let underWay = Buffer.alloc(0);
  let isTimed = false;
  let isClosed = false;
  let lost = 0;
  let whenWritten: (() => void)[] = [];

  function send() {
    if (underWay.length > 0) return;
    if (waiting === "" || isClosed) return allWritten();
    underWay = Buffer.from(waiting);
    waiting = "";
    writeOn();
  }

  function allWritten() {
    waiting = "";
    for (const done of whenWritten) done();
    whenWritten = [];
  }

  function writeOn() {
    write(fd, underWay, 0, pieceOf(underWay), (error, written) => (error ? handleFailure(error) : proceed(written)));
  }

  function proceed(written: number) {
    underWay = underWay.subarray(written);
    if (underWay.length > 0) return writeOn();
    if (lost > 0) waiting += `${JSON.stringify({ level: WARN, time: new Date(), lines: lost, msg: "log lines lost" })}\n`;
    lost = 0;
    sendNext();
  }

  function sendNext() {
    if (!isTimed || waiting.length >= BATCH || whenWritten.length > 0) send();
  }

  /** A broken pipe has lost its reader for good; all else may pass, such as a full disk. */
  function handleFailure({ code }: NodeJS.ErrnoException) {
    if (code === "EAGAIN") return void setTimeout(writeOn, RETRY_MS);
    isClosed = code === "EPIPE";
    lost += underWay.toString("latin1").split("\n").length - 1;
    underWay = Buffer.alloc(0);
    sendNext();
  }

  function writeRest() {
    if (isClosed) return;
    if (underWay.length > 0) Bun.sleepSync(LAST_WRITE_MS);
    let rest = Buffer.concat([underWay.subarray(pieceOf(underWay)), Buffer.from(waiting)]);
    while (rest.length > 0) rest = rest.subarray(writeNow(rest.subarray(0, pieceOf(rest))));
  }

  /** Returns how many of the bytes are written at once. */
  const pieceOf = (bytes: Buffer) => (isShared && bytes.length > SHARED_PIECE ? endOfLines(bytes, SHARED_PIECE) : bytes.length);

  /** Returns how many bytes were taken: all of them where the failure cannot be logged. */
  function writeNow(bytes: Uint8Array) {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") return bytes.length;
      Bun.sleepSync(RETRY_MS);
      return 0;
    }
  }
  process.once("exit", writeRest);

  return {
    write(line: string) {
      if (waiting.length >= MAX_WAITING) lost++;
      else waiting += line;
      if (waiting.length >= BATCH) send();
      else if (!isTimed) {
        isTimed = true;
        setTimeout(() => {
          isTimed = false;
          send();
        }, MAX_DELAY);
      }
    },
    /** Calls back once everything is written. */
    flush(done = () => {}) {
      whenWritten.push(done);
      send();
    },
  };
}

/** Returns where the last line ends that is within so many bytes; where there is none, where the first ends. */
const endOfLines = (bytes: Buffer, within: number) => bytes.lastIndexOf(10, within - 1) + 1 || bytes.indexOf(10) + 1;
