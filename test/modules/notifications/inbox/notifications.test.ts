import { describe, expect, test } from "bun:test";
import { call } from "../../../support/server/call";
import { addEvent, dispatch } from "../../../support/server/dispatching";
import { newOrganization, newUser } from "../../../support/server/people";
import { world } from "../../../support/server/world";

type User = Awaited<ReturnType<typeof newUser>>;
const example = (user: User, body: unknown = {}) => user.call("POST", "/users/me/notifications/examples", { body });
const inbox = async (user: User, query = "") => (await user.call("GET", `/users/me/notifications/inbox${query}`)).body;
const read = (user: User, body: unknown) => user.call("POST", "/users/me/notifications/read", { body });
const titles = (page: { items: { title: string }[] }) => page.items.map((each) => each.title.split(" ")[0]);

/** Tells all members of one more. */
async function addJoined(organizationId: string, name = "Grace") {
  await addEvent(organizationId, { kind: "member_joined", facts: { name, role: "ORG_MEMBER" } });
  await dispatch();
}

async function withNotices(count: number) {
  const organization = await newOrganization();
  const user = await organization.join();
  for (let index = 1; index <= count; index++) await addJoined(organization.id, `${index}`);
  return { organization, user };
}

describe("POST /users/me/notifications/examples", () => {
  test("401 for a stranger", async () => {
    expect(await call("POST", "/users/me/notifications/examples", { body: { kind: 1 } })).toMatchObject({ status: 401, body: "" });
  });

  test.each([
    { kind: "nonsense" },
    { kind: null },
    { title: "" },
    { title: "x".repeat(201) },
    { message: "a\0" },
    { message: "x".repeat(1_001) },
    { userId: "x" },
    "text",
  ])("400 for %j", async (body) => {
    expect((await example(await newUser(), body)).status).toBe(400);
  });

  test("201 a certificate_expiring one by default, to the caller alone, marked as an example", async () => {
    const [user, other] = [await newUser(), await newUser()];
    const { status, body } = await example(user);
    expect({ status, body }).toMatchObject({
      status: 201,
      body: { kind: "certificate_expiring", example: true, readAt: null, organizationId: null, data: {} },
    });
    expect(await inbox(user)).toMatchObject({ total: 1, unread: 1, items: [body] });
    expect(await inbox(other)).toEqual({ items: [], page: 0, limit: 10, total: 0, unread: 0 });
  });

  test("201 with the words of the caller", async () => {
    const { body } = await example(await newUser(), { kind: "control_due", title: " Due ", message: "Soon" });
    expect(body).toMatchObject({ kind: "control_due", title: "Due", message: "Soon" });
  });

  test("429 for all but ten of thirty at once, with Retry-After, and the inbox holds ten", async () => {
    const user = await newUser();
    const answers = await Promise.all(Array.from({ length: 30 }, () => example(user)));
    expect(answers.filter((each) => each.status === 201)).toHaveLength(10);
    const refused = answers.filter((each) => each.status === 429);
    expect(refused).toHaveLength(20);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeWithin(1, 61);
    expect(await inbox(user)).toMatchObject({ total: 10, unread: 10 });
  });

  test("201 again once the oldest of the ten is over a minute old", async () => {
    const user = await newUser();
    for (let index = 0; index < 10; index++) await example(user);
    await world.sql`update inboxes set recent_examples[1] = now() - interval '61 seconds' where user_id = ${user.id}`;
    expect((await example(user)).status).toBe(201);
    expect((await example(user)).status).toBe(429);
  });
});

describe("GET /users/me/notifications/inbox", () => {
  test("401 for a stranger, whatever the query", async () => {
    expect(await call("GET", "/users/me/notifications/inbox?page=x")).toMatchObject({ status: 401, body: "" });
  });

  test.each(["page=-1", "page=x", "page=1.5", "limit=0", "limit=101", "limit=", "unread=yes", "page=1e3", "page=9007199254740993.5", "page=Infinity"])(
    "400 for %s",
    async (query) => {
      expect((await (await newUser()).call("GET", `/users/me/notifications/inbox?${query}`)).status).toBe(400);
    },
  );

  test("200 newest first, page by page, with exact totals on each", async () => {
    const { user } = await withNotices(7);
    const pages = [
      await inbox(user, "?limit=3"),
      await inbox(user, "?limit=3&page=1"),
      await inbox(user, "?limit=3&page=2"),
      await inbox(user, "?limit=3&page=3"),
    ];
    expect(pages.map(titles)).toEqual([["7", "6", "5"], ["4", "3", "2"], ["1"], []]);
    for (const [page, each] of pages.entries()) expect(each).toMatchObject({ page, limit: 3, total: 7, unread: 7 });
    for (const beyond of ["2147483648", "99999999999", "9007199254740991", "9223372036854775808", "9".repeat(400)])
      for (const unread of ["", "&unread=true"])
        expect(await inbox(user, `?page=${beyond}&limit=100${unread}`)).toMatchObject({
          items: [],
          page: Math.min(Number(beyond), Number.MAX_SAFE_INTEGER),
          total: 7,
          unread: 7,
        });
  });

  test("200 unread ones alone, and their number as the total", async () => {
    const { user } = await withNotices(5);
    const { items } = await inbox(user);
    await read(user, { ids: [items[0].id, items[2].id] });
    const unread = await inbox(user, "?unread=true&limit=2");
    expect({ ...unread, items: titles(unread) }).toEqual({ items: ["4", "2"], page: 0, limit: 2, total: 3, unread: 3 });
    expect(titles(await inbox(user, "?unread=true&limit=2&page=1"))).toEqual(["1"]);
    expect(titles(await inbox(user, "?unread=false"))).toHaveLength(5);
  });

  test("200 totals stay exact while notices come from many sides at once", async () => {
    const { organization, user } = await withNotices(0);
    const other = await organization.join();
    await Promise.all([
      ...Array.from({ length: 20 }, async (_, days) => {
        await addEvent(organization.id, { kind: "certificate_expiring", facts: { commonName: "a.example", notAfter: "2030-01-01T00:00:00.000Z", days } });
        await dispatch();
      }),
      ...Array.from({ length: 5 }, () => example(user)),
      read(user, { all: true }),
    ]);
    await dispatch(); // of what came while another turn ran
    await read(user, { all: true });
    await addJoined(organization.id);
    expect(await inbox(user)).toMatchObject({ total: 26, unread: 1 });
    expect(await inbox(other)).toMatchObject({ total: 21, unread: 21 });
    expect((await inbox(user, "?unread=true")).items).toHaveLength(1);
  });
});

describe("GET /users/me/notifications/inbox?unread=true of an inbox with thousands", () => {
  /** Inserts notices, of which every one was read alone that `isRead` says, and all up to `readUpTo` at once. */
  async function withThousands(count: number, readUpTo: number, isRead: (position: number) => boolean) {
    const user = await newUser();
    await inbox(user); // which makes the user known
    const reads = Array.from({ length: count }, (_, index) => index + 1).filter(isRead);
    const unread = count - readUpTo - reads.filter((position) => position > readUpTo).length;
    await world.sql`insert into inboxes (user_id, total, unread, read_up_to) values (${user.id}, ${count}, ${unread}, ${readUpTo})`;
    await world.sql`
      insert into notices (user_id, position, id, kind, title, message) select ${user.id}, n, new_id(), 'certificate_expiring', n::text, '' from generate_series(1, ${count}::int) n`;
    await world.sql`update notices set read_at = now() where user_id = ${user.id} and position in (select jsonb_array_elements_text(${JSON.stringify(reads)}::text::jsonb)::int)`;
    const left = Array.from({ length: count }, (_, index) => count - index).filter((position) => position > readUpTo && !isRead(position));
    return { user, left: left.map(String) };
  }

  test.each<[string, number, number, (position: number) => boolean]>([
    ["none read", 2_500, 0, () => false],
    ["some read, one by one", 3_456, 0, (position) => position % 3 === 0],
    ["whole thousands read, one by one", 4_100, 0, (position) => position > 1_000 && position <= 3_050],
    ["the oldest read at once", 3_000, 1_500, (position) => position % 2 === 0],
    ["a thousand read at once", 2_001, 1_000, (position) => position < 900 || position === 2_000],
    ["all read at once", 2_000, 2_000, () => false],
  ])("200 the same pages as if they were counted off: %s", async (_, count, readUpTo, isRead) => {
    const { user, left } = await withThousands(count, readUpTo, isRead);
    for (const limit of [100, 7])
      for (const page of new Set([
        0,
        1,
        9,
        10,
        Math.floor(left.length / limit / 2),
        Math.floor(left.length / limit),
        Math.floor(left.length / limit) + 1,
        99_999,
      ])) {
        const answer = await inbox(user, `?unread=true&limit=${limit}&page=${page}`);
        expect({ limit, page, titles: titles(answer) }).toEqual({ limit, page, titles: left.slice(page * limit, (page + 1) * limit) });
        expect(answer).toMatchObject({ total: left.length, unread: left.length });
      }
  });
});

describe("POST /users/me/notifications/read", () => {
  test.each([{}, { ids: [] }, { ids: ["x"] }, { ids: [crypto.randomUUID()], all: true }, { all: false }, { ids: Array(1_001).fill(crypto.randomUUID()) }])(
    "400 for %j",
    async (body) => {
      expect((await read(await newUser(), body)).status).toBe(400);
    },
  );

  test("200 counts each once, and never another user's", async () => {
    const { user } = await withNotices(3);
    const [first] = (await inbox(user)).items;
    const stranger = await newUser();
    expect((await read(stranger, { ids: [first.id] })).body).toEqual({ marked: 0, unread: 0 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => read(user, { ids: [first.id, first.id] })));
    expect(answers.reduce((sum, each) => sum + each.body.marked, 0)).toBe(1);
    expect((await inbox(user)).items.map((each: { readAt: string | null }) => each.readAt !== null)).toEqual([true, false, false]);
  });

  test("200 all of them, and what comes later is unread", async () => {
    const { organization, user } = await withNotices(3);
    const [, second] = (await inbox(user)).items;
    await read(user, { ids: [second.id] });
    expect((await read(user, { all: true })).body).toEqual({ marked: 2, unread: 0 });
    await addJoined(organization.id);
    const page = await inbox(user);
    expect(page).toMatchObject({ total: 4, unread: 1 });
    expect(page.items.map((each: { readAt: string | null }) => each.readAt === null)).toEqual([true, false, false, false]);
    expect((await read(user, { ids: [second.id] })).body).toEqual({ marked: 0, unread: 1 });
  });
});

describe("GET /users/me/notifications/stream", () => {
  const open = async (user: User, headers: Record<string, string> = {}) => {
    const controller = new AbortController();
    const answer = await fetch(`${world.url}/users/me/notifications/stream`, {
      headers: { authorization: `Bearer ${user.token}`, ...headers },
      signal: controller.signal,
    });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    async function until(text: string) {
      for (let seen = ""; ; ) {
        seen += (await reader?.read())?.value ?? "";
        if (seen.includes(text)) return seen;
      }
    }
    async function untilEnd() {
      for (let seen = ""; ; ) {
        const part = await reader?.read();
        if (!part || part.done) return seen;
        seen += part.value;
      }
    }
    return { answer, until, untilEnd, close: () => controller.abort() };
  };

  test("401 for a stranger", async () => {
    expect((await call("GET", "/users/me/notifications/stream")).status).toBe(401);
  });

  test("200 at once for HEAD: nobody listens, because there is no body to read", async () => {
    const { user } = await withNotices(1);
    const answer = await call("HEAD", "/users/me/notifications/stream", { token: user.token });
    expect([answer.status, answer.headers.get("content-type"), answer.text]).toEqual([200, "text/event-stream", ""]);
  });

  test("200 sends what comes, and a client that comes back gets what it missed", async () => {
    const { user } = await withNotices(2);
    const first = await open(user);
    expect(first.answer.headers.get("content-type")).toBe("text/event-stream");
    await first.until("retry:");
    await example(user, { title: "third" });
    const seen = await first.until("third");
    expect(seen).not.toContain('"title" : "2 is a member now"');
    expect(seen).toContain("id: 3\nevent: notice\ndata: ");
    first.close();
    const second = await open(user, { "last-event-id": "1" });
    const missed = await second.until("third");
    expect(missed).toContain('"title" : "2 is a member now"');
    expect(missed).not.toContain('"title" : "1"');
    second.close();
  });

  test("200 with how many are unread, in each notice and when that changes alone", async () => {
    const { user } = await withNotices(2);
    const stream = await open(user);
    await stream.until("retry:");
    await read(user, { ids: [(await inbox(user)).items[0].id] });
    expect(await stream.until("\n\n")).toBe('event: unread\ndata: {"unread":1}\n\n');
    await example(user);
    expect(await stream.until("\n\n")).toContain('"unread" : 2}');
    stream.close();
  });

  test("a member who is removed gets no notice of the organization any more, and keeps none", async () => {
    const { organization, user } = await withNotices(2);
    await organization.join("ORG_ADMIN");
    await example(user, { title: "their own" });
    const { body } = await organization.admin("GET", "/members");
    const [member] = body.items.filter(({ userId }: { userId: string }) => userId === user.id);
    expect((await organization.admin("DELETE", `/members/${member.id}`)).status).toBe(204);
    await addJoined(organization.id, "Afterwards");
    const page = await inbox(user);
    expect(page).toMatchObject({ total: 3, unread: 3 });
    expect(page.items.map((each: { title: string }) => each.title)).toEqual(["their own", "You are not a member any more", "You are not a member any more"]);
    expect(page.items[1]).toMatchObject({ data: {}, link: null, state: null });
    const stream = await open(user, { "last-event-id": "0" });
    expect(await stream.until("id: 3")).not.toContain("is a member now");
    stream.close();
  });

  test("a stream ends for which more waits than it holds, and the client resumes", async () => {
    const user = await newUser();
    await inbox(user); // which makes the user known
    const first = await open(user);
    await world.sql`insert into inboxes (user_id, total, unread) values (${user.id}, 100, 100)`;
    await world.sql`
      insert into notices (user_id, position, id, kind, title, message)
      select ${user.id}, n, new_id(), 'member_joined', 't', ${"x".repeat(60_000)} from generate_series(1, 100) as n`;
    const ids = async (stream: typeof first) => Array.from((await stream.untilEnd()).matchAll(/^id: (\d+)$/gm), ([, id]) => Number(id));
    const seen = await ids(first);
    expect(seen.length).toBeWithin(50, 100);
    const second = await open(user, { "last-event-id": `${seen.at(-1)}` });
    await second.until("id: 100\n");
    second.close();
  });
});
