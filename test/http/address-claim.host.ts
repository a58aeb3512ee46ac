import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { tlsFilesIn } from "../support/pki/tls-files";
import { endServers, newPlace, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);

const NOBODY = 65_534;
/** Becomes a user without rights, and holds the abstract sockets of these names. */
const SQUATTER = `
  process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});
  for (const name of process.argv.slice(1)) Bun.listen({ unix: "\\0" + name, socket: { data() {} } });
  console.info("held");`;

let place: Awaited<ReturnType<typeof newPlace>>;
let port = "";
let squatter: Bun.Subprocess<"ignore", "pipe", "inherit">;
beforeAll(async () => {
  place = await newPlace();
  const probe = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  port = `${probe.port}`;
  await probe.stop(true);
  squatter = Bun.spawn([process.execPath, "-e", SQUATTER, `certitude 127.0.0.1 ${port}`], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const said of squatter.stdout) if (new TextDecoder().decode(said).includes("held")) break;
});
afterEach(endServers);
afterAll(async () => {
  squatter.kill();
  await squatter.exited;
  place.remove();
});

const IGNORED = "another user of this machine holds the abstract socket";

test("a server with TLS starts although an unprivileged user holds the name of its claim, and a second one is still refused", async () => {
  const files = tlsFilesIn(place.directory);
  files.write("first");
  const env = { ...place.env, ...files.env, PORT: port };
  const server = serve(env);
  expect(await server.url()).toContain(port);
  expect(server.lines.join("")).toContain(IGNORED);
  const second = await run(["serve"], { ...env, DATA_DIR: `${place.directory}/second` });
  expect(second).toMatchObject({ code: 1, err: expect.stringContaining(`127.0.0.1:${port} is not free to listen on`) });
  expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
});

// The embedded database is one session.
if (Bun.env.TEST_DATABASE_URL)
  test("a server with workers starts too", async () => {
    const server = serve({ ...place.env, PORT: port }, "--workers", "2");
    expect(await server.url()).toContain(port);
    expect(server.lines.join("")).toContain(IGNORED);
    expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
  });
