import { expect, test } from "bun:test";
import { createEventReader } from "../../src/console/app/server-events";

const STREAM = 'retry: 2000\n\nid: 7\nevent: notice\ndata: {"a":"é"}\n\n: still here\n\nevent: unread\ndata: {"unread":1}\n\n';
const EVENTS = [
  { id: "7", event: "notice", data: '{"a":"é"}' },
  { id: "7", event: "unread", data: '{"unread":1}' },
];

test("events are the same wherever the stream is cut", () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    const readEvents = createEventReader();
    expect([...readEvents(STREAM.slice(0, cut)), ...readEvents(STREAM.slice(cut))]).toEqual(EVENTS);
  }
});

test("an event that is not complete waits", () => {
  const readEvents = createEventReader();
  expect(readEvents("data: a\n")).toEqual([]);
  expect(readEvents("data: b\n\n")).toEqual([{ id: "", event: "message", data: "a\nb" }]);
});

test("lines that end in CR and LF are read too, even when cut between them", () => {
  const readEvents = createEventReader();
  expect([...readEvents("data: a\r"), ...readEvents("\n\r"), ...readEvents("\n")]).toEqual([{ id: "", event: "message", data: "a" }]);
});
