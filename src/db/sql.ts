import postgres, { type Sql as Client, type MaybeRow, type Row, type RowList, type Serializable } from "postgres";

/** A runner of statements: the pool, a session of it or a transaction. */
export interface Sql {
  /** A statement, which runs once it is awaited, or a part of another one. */
  <Rows extends readonly MaybeRow[] = Row[]>(strings: TemplateStringsArray, ...values: Value[]): Statement<Rows>;
  /** A part that is text of our own, such as a list of columns; of few kinds, because the text of each statement is kept. */
  text: (text: string) => Fragment;
  /** Runs text of our own; without values it may be several statements. */
  unsafe: Client["unsafe"];
}

export interface Pool extends Statements {
  /** True where the session that began last takes no writes. */
  isReadOnly: () => boolean;
}

interface Statements extends Sql, Pick<Client, "options" | "end"> {
  /** How many statements, transactions and sessions have a connection or wait for one. */
  demand: () => number;
  /** Runs `work` in a transaction; `mode` says in which, as after BEGIN. */
  begin: <Result>(work: (tx: Sql) => Promise<Result>, mode?: string) => Promise<Result>;
  /** One session, until it is released. */
  reserve: () => Promise<Sql & { release: () => void }>;
}

/** A value becomes a parameter; undefined is an error. */
type Value = Serializable | undefined | Fragment;

/** A part of a statement: pieces of text, and between them values and other parts. */
export class Fragment {
  constructor(
    readonly pieces: readonly string[],
    readonly values: readonly Value[],
  ) {}
}

const PREPARED = { prepare: true, simple: false };

/**
 * A statement as it was written. postgres.js makes a promise of each part and joins texts at each call, which costs more than
 * sending. Here parts are light, and a text is joined once.
 */
class Statement<Rows extends readonly MaybeRow[]> extends Fragment implements Promise<RowList<Rows>> {
  #result: Promise<RowList<Rows>> | undefined;

  constructor(
    readonly client: Pick<Client, "unsafe">,
    pieces: TemplateStringsArray,
    values: Value[],
  ) {
    super(pieces, values);
  }

  get [Symbol.toStringTag]() {
    return "Statement";
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting is what runs it
  then<Done = RowList<Rows>, Failed = never>(done?: Then<RowList<Rows>, Done>, failed?: Catch<Failed>): Promise<Done | Failed> {
    this.#result ??= this.#run();
    return this.#result.then(done, failed && ((error) => failed(withOrigin(error, this.pieces))));
  }

  catch<Failed = never>(failed?: Catch<Failed>) {
    return this.then(undefined, failed);
  }

  finally(ended?: (() => void) | null) {
    return this.then().finally(ended);
  }

  #run() {
    const values: Value[] = [];
    const shape = walk(this, SHAPES, values);
    shape.text ??= join(this, { count: 0 });
    return this.client.unsafe(shape.text, values as Serializable[], PREPARED) as unknown as Promise<RowList<Rows>>;
  }
}

type Then<Given, Result> = ((given: Given) => Result | PromiseLike<Result>) | null | undefined;
type Catch<Result> = Parameters<typeof Promise.prototype.catch<Result>>[0];

/** A node of the tree of statement parts, in reading order: each way through the tree is a text. */
class Shape {
  text: string | undefined;
  #value: Shape | undefined;
  readonly #fragments = new Map<readonly string[], Shape>();

  get value() {
    this.#value ??= new Shape();
    return this.#value;
  }

  fragment(pieces: readonly string[]) {
    const known = this.#fragments.get(pieces);
    if (known) return known;
    const shape = new Shape();
    this.#fragments.set(pieces, shape);
    return shape;
  }
}
const SHAPES = new Shape();

/** Returns the shape of a fragment that follows `from`, and adds its values to `found`. */
function walk({ pieces, values }: Fragment, from: Shape, found: Value[]): Shape {
  let shape = from.fragment(pieces);
  for (const value of values) {
    if (value instanceof Fragment) shape = walk(value, shape, found);
    else {
      found.push(value);
      shape = shape.value;
    }
  }
  return shape;
}

const join = ({ pieces, values }: Fragment, parameters: { count: number }): string =>
  String.raw({ raw: pieces }, ...values.map((value) => (value instanceof Fragment ? join(value, parameters) : `$${++parameters.count}`)));

/** One array for each text, because shapes know fragments by their pieces. */
const texts = new Map<string, Fragment>();
const text = (given: string) => texts.getOrInsertComputed(given, () => new Fragment([given], []));

/** The place of each statement in the code: an error arrives from the socket, without the caller's trace. */
const origins = new Map<readonly string[], string>();

function withOrigin(error: unknown, pieces: readonly string[]) {
  if (error instanceof postgres.PostgresError) Object.defineProperty(error, "stack", { value: `${error.stack}\n${origins.get(pieces)}` });
  return error;
}

const noteOrigin = (strings: TemplateStringsArray) => origins.set(strings, (new Error().stack ?? "").split("\n").slice(3, 6).join("\n"));

function createTag(client: Pick<Client, "unsafe">): Sql {
  const tag = (strings: TemplateStringsArray, ...values: Value[]) => {
    if (!origins.has(strings)) noteOrigin(strings);
    return new Statement(client, strings, values);
  };
  return Object.assign(tag, { text, unsafe: client.unsafe }) as Sql;
}

/** Returns the pool of a client, with statements that are joined once. */
export function createPool(client: Client): Statements {
  let demand = 0;
  const ended = () => void demand--;
  function counted<Result extends PromiseLike<unknown>>(work: Result) {
    demand++;
    work.then(ended, ended);
    return work;
  }
  const unsafe = ((...given) => counted(client.unsafe(...given))) as Client["unsafe"];
  return Object.assign(createTag({ unsafe }), {
    unsafe: client.unsafe,
    options: client.options,
    end: client.end,
    demand: () => demand,
    begin: <Result>(work: (tx: Sql) => Promise<Result>, mode = "") => counted(client.begin(mode, (tx) => work(createTag(tx)))) as Promise<Result>,
    async reserve() {
      demand++;
      try {
        const session = await client.reserve();
        return Object.assign(createTag(session), {
          release() {
            ended();
            session.release();
          },
        });
      } catch (error) {
        ended();
        throw error;
      }
    },
  });
}
