import type { NetConnectOpts } from "node:net";
import { Duplex } from "node:stream";
import { failure, READ_ONLY } from "./failures";
import { createPlaces } from "./places";
import { describeSession, isReadOnly, isWanted, mayWrite, type Reported, type SessionAttributes } from "./session-attributes";
import { watchSilence } from "./silence";
import { cancel, nameOf, openSocket } from "./socket";
import type { Tls } from "./url";

/** Milliseconds for which a connection that was given up counts as there: to be cancelled, and for Postgres to end it. */
const FAREWELL_MS = 2_000;
/** Milliseconds after which a session that takes no writes is replaced: the database may take them again. */
const READ_ONLY_MS = 1_000;
/** SQLSTATE of a server that starts or stops. */
const STARTING = "57P03";
const UNWANTED = "CONNECTION_UNWANTED";

/** `silence` and `timeout` in milliseconds, of which 0 is for ever: how long to wait for an answer to a write, and for a session. */
type Manner = { tls: Tls | undefined; attributes: SessionAttributes; max: number; silence: number; timeout: number };

/** A socket with what the patched driver calls while a session is on it, and what it leaves there. */
type SessionSocket = Duplex & {
  /** The key by which Postgres cancels this session's statement. */
  key?: Buffer;
  /** Ends the session once it has nothing to do. */
  retire?: () => void;
  /** True for a session, or for the error in its place, that the driver is to leave for another server; it then asks for another socket. */
  isUnwanted: (session: Reported & { code?: string }) => boolean;
  onparameter: (name: string, value: string) => void;
  onfailure: (error: { code?: string }) => void;
};

/** The result of each server that was tried for one statement, and what is sought now. */
type Round = { tried: Map<NetConnectOpts, Error>; attributes: SessionAttributes };

/**
 * Connects to the first of `targets` with the wanted session attributes, as libpq does. A silent connection is cancelled, and
 * counts as one of `max` until Postgres ends it: Postgres must not fill.
 */
export function createDialler(targets: NetConnectOpts[], { tls, attributes, max, silence, timeout }: Manner) {
  const places = createPlaces(max);
  const rounds = new WeakMap<object, Round>();
  const connections = new Set<{ isWaiting: () => boolean; giveUp: () => Promise<void> }>();
  /** The parameters that Postgres reports of the session that began last; the driver keeps them up to date. */
  let latest: Reported = {};

  /**
   * Returns a socket for the statement that needs a connection. It never rejects, which postgres.js would not survive: with no
   * server left, the socket fails at the first write.
   */
  async function dial(statement: object): Promise<Duplex> {
    await places.take();
    const round = rounds.getOrInsertComputed(statement, () => ({ tried: new Map(), attributes }));
    const socket = (await dialNext(round)) ?? (attributes === "prefer-standby" ? await dialNext(takeAny(round)) : undefined);
    if (socket) return socket;
    places.leave();
    return failing(round);
  }

  async function dialNext(round: Round) {
    for (const target of targets) {
      if (round.tried.has(target)) continue;
      try {
        return watch(target, round, await openSocket(target, tls, timeout));
      } catch (error) {
        round.tried.set(target, error as Error);
      }
    }
  }

  function watch(target: NetConnectOpts, round: Round, { socket: plain, began }: Awaited<ReturnType<typeof openSocket>>) {
    const watched = watchSilence(plain, silence, () => void giveUp());
    const connection = { isWaiting: watched.isWaiting, giveUp };
    let retiring: Timer | undefined;
    const hasOthers = () => targets.some((each) => each !== target && !round.tried.has(each));
    const fails = (error: Error) => round.tried.set(target, error).has(target);
    const retireSoon = () => {
      if (mayWrite(attributes)) retiring ??= setTimeout(() => socket.retire?.(), READ_ONLY_MS);
    };
    const socket: SessionSocket = Object.assign(plain, {
      isUnwanted(session: Reported & { code?: string }) {
        began();
        if (session.code !== undefined) return session.code === STARTING && hasOthers() && fails(failure(STARTING, `${nameOf(target)} starts or stops`));
        if (!isWanted(round.attributes, session)) return fails(unwanted(target, session));
        latest = session;
        return false;
      },
      onparameter: (name: string, value: string) => void (isReadOnly({ [name]: value }) && retireSoon()),
      onfailure: ({ code }: { code?: string }) => void (code === READ_ONLY && retireSoon()),
    });

    function end() {
      connections.delete(connection);
      watched.end();
      clearTimeout(retiring);
    }

    function left() {
      end();
      places.leave();
    }

    /** Ends it for the driver at once, and for Postgres as soon as that can be. */
    async function giveUp() {
      end();
      socket.removeListener("close", left);
      socket.emit("error", failure("CONNECTION_CLOSED", `${nameOf(target)} does not answer`));
      socket.emit("close", true);
      if (socket.key) void cancel(target, tls, socket.key, FAREWELL_MS).catch(() => {}); // one that does not arrive is waited for below
      await hasEnded(socket);
      places.leave();
    }

    connections.add(connection);
    return failAtEnd(socket.once("close", left), target);
  }

  /** Gives up the connections whose statement has no answer yet: one that waits for a standby would stay in Postgres. */
  const leave = async () => void (await Promise.all(Array.from(connections, (each) => each.isWaiting() && each.giveUp())));

  return { dial, leave, isReadOnly: () => isReadOnly(latest) };
}

/** Says that nothing more is to come, and resolves once Postgres has ended the session too, or after a while. */
async function hasEnded(socket: Duplex) {
  const gone = new Promise<void>((resolve) => socket.on("error", () => {}).once("close", resolve));
  socket.once("end", () => socket.destroy()).resume();
  socket.end();
  await Promise.race([gone, Bun.sleep(FAREWELL_MS)]);
  socket.destroy();
}

/** Begins the second turn of prefer-standby: there is no standby, so each server will do that answered. */
function takeAny(round: Round) {
  round.attributes = "any";
  for (const [target, { code }] of round.tried as Map<NetConnectOpts, Error & { code?: string }>) if (code === UNWANTED) round.tried.delete(target);
  return round;
}

const unwanted = (target: NetConnectOpts, session: Reported) =>
  failure(UNWANTED, `${nameOf(target)} is not what target_session_attrs asks for: ${describeSession(session)}`);

/** A socket that fails at the first write with what became of every server. */
function failing({ tried }: Round) {
  const errors = [...tried.values()];
  const error = errors.length === 1 ? errors[0] : failure("CONNECTION_FAILED", errors.map(({ message }) => message).join("; "));
  return new Duplex({ read() {}, write: (_chunk, _encoding, done) => done(error) });
}

/**
 * Treats a closed connection as a failure: otherwise postgres.js reconnects at once, again and again, to a server that hangs up during the
 * start.
 */
const failAtEnd = (socket: Duplex, target: NetConnectOpts) =>
  socket.once("end", () => socket.destroy(failure("CONNECTION_CLOSED", `${nameOf(target)} ended the connection`)));
