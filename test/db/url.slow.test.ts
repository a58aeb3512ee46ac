import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { databaseUrlFault, readUrl } from "#db/url";
import { connectTo, startPostgres } from "../support/server/postgres";
import { newPlace, run } from "../support/server/program";

setDefaultTimeout(300_000);

describe("what the environment says of Postgres", () => {
  test("moves neither the embedded database nor that of DATABASE_URL", async () => {
    const place = await newPlace();
    const names = [
      "PGHOST",
      "PGPORT",
      "PGUSER",
      "PGUSERNAME",
      "PGPASSWORD",
      "PGDATABASE",
      "PGAPPNAME",
      "PGTARGETSESSIONATTRS",
      "PGOPTIONS",
      "PGTZ",
      "PGSSLMODE",
    ];
    const more = [
      "PGMAX",
      "PGIDLE_TIMEOUT",
      "PGCONNECT_TIMEOUT",
      "PGMAX_LIFETIME",
      "PGMAX_PIPELINE",
      "PGPREPARE",
      "PGDEBUG",
      "PGFETCH_TYPES",
      "PGSSL",
      "PGBACKOFF",
    ];
    const hostile = Object.fromEntries([...names, ...more].map((name) => [name, "1"]));
    const err = "DATABASE_URL" in place.env ? "" : `creating embedded database path=${place.env.DATA_DIR}/postgres`;
    expect(await run(["migrate"], { ...place.env, ...hostile })).toMatchObject({ code: 0, err });
    expect(await run(["migrate"], place.env)).toMatchObject({ code: 0, out: "The database is up to date." });
    await place.remove();
  });
});

describe("a connection string", () => {
  test.each([
    ["postgres://h", [{ host: "h", port: 5432 }]],
    ["postgres://h:1/?port=2", [{ host: "h", port: 2 }]],
    [
      "postgres://h:1/?host=a,b",
      [
        { host: "a", port: 5432 },
        { host: "b", port: 1 },
      ],
    ],
    [
      "postgres:///?host=a,b&port=1,2",
      [
        { host: "a", port: 1 },
        { host: "b", port: 2 },
      ],
    ],
    [
      "postgres:///?host=a,b&port=7",
      [
        { host: "a", port: 7 },
        { host: "b", port: 7 },
      ],
    ],
    ["postgres://[::1]:5433/x", [{ host: "::1", port: 5433 }]],
    [
      "postgres://ada:s%40fe@a:1,b:2/x?target_session_attrs=read-write",
      [
        { host: "a", port: 1 },
        { host: "b", port: 2 },
      ],
    ],
    ["postgres://a,[::1]:2,%2Frun%2Fpg:3/x", [{ host: "a", port: 5432 }, { host: "::1", port: 2 }, { path: "/run/pg/.s.PGSQL.3" }]],
    ["postgres://%2Frun%2Fpg/x", [{ path: "/run/pg/.s.PGSQL.5432" }]],
    ["postgres:///x?host=/run/pg&port=6", [{ path: "/run/pg/.s.PGSQL.6" }]],
    ["postgres://ada:s%40fe@/x?host=/run/pg", [{ path: "/run/pg/.s.PGSQL.5432" }]],
    ["postgresql://ada@?host=a", [{ host: "a", port: 5432 }]],
    ["postgres://ada@/x", [{ host: "localhost", port: 5432 }]],
  ])("says where the server listens: %s", (url, targets) => {
    expect<object[]>(readUrl(url).targets).toEqual(targets);
  });

  test("says who connects, to which database, and how, as libpq reads it", () => {
    const url =
      "postgres://ada:s%40fe@h/shop?user=grace&password=other&dbname=ledger&connect_timeout=1&application_name=x&options=-c%20work_mem%3D5MB&target_session_attrs=any";
    expect(readUrl(url)).toMatchObject({
      user: "grace",
      password: "other",
      database: "ledger",
      connectTimeout: 2,
      applicationName: "x",
      serverOptions: "-c work_mem=5MB",
    });
    expect(readUrl("postgres://ada:s%40fe@h/sh%20op")).toMatchObject({ user: "ada", password: "s@fe", database: "sh op", connectTimeout: 5 });
  });

  test("hands options, name and user on to Postgres", async () => {
    const postgres = await startPostgres();
    const url = new URL(postgres.url);
    const { username } = url;
    url.username = "";
    for (const [name, value] of Object.entries({ user: username, application_name: "from the test", options: "-c work_mem=5MB" }))
      url.searchParams.set(name, value);
    const { $client: sql } = connectTo(url.href, { max: 1 });
    const [row] = await sql`select current_setting('application_name') as name, current_setting('work_mem') as memory`;
    expect(row).toEqual(Bun.env.TEST_DATABASE_URL ? { name: "from the test", memory: "5MB" } : { name: "", memory: "4MB" }); // the embedded one has one session for ever
    await sql.end();
    await postgres.stop();
  });

  test.each([
    ["sslcrl=x", 'DATABASE_URL: the parameter "sslcrl" is not known. Known are host, port, user, password,'],
    ["search_path=x", 'DATABASE_URL: the parameter "search_path" is not known.'],
    ["port=x", 'DATABASE_URL: port must be a number from 1 to 65535, not "x".'],
    ["port=1,2", "DATABASE_URL: port names 2 ports for 1 host."],
    ["connect_timeout=soon", 'DATABASE_URL: connect_timeout must be a whole number of seconds, not "soon".'],
    [
      "target_session_attrs=master",
      'DATABASE_URL: target_session_attrs must be one of any, read-write, read-only, primary, standby, prefer-standby, not "master".',
    ],
  ])("stops the start with a sentence: %s", (parameters, sentence) => {
    expect(databaseUrlFault(`postgres://h/x?${parameters}`)).toStartWith(sentence);
  });

  test.each([
    ["a:1,b:x", 'DATABASE_URL: "b:x" is not a server, such as db.example, db.example:5432 or [2001:db8::1]:5432.'],
    ["a:0", 'DATABASE_URL: port must be a number from 1 to 65535, not "0".'],
    ["a,b c", 'DATABASE_URL: "b c" is not a server, such as'],
    ["[::1", 'DATABASE_URL: "[::1" is not a server, such as'],
    ["a%zz", "DATABASE_URL: a percent sign must begin an escape such as %40."],
  ])("stops the start with a sentence where the servers are %s", (servers, sentence) => {
    expect(databaseUrlFault(`postgres://ada@${servers}/x`)).toStartWith(sentence);
  });
});
