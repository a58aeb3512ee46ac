/** How many are remembered; of more, those that were read longest ago are forgotten. */
const MOST = 10_000;

/** The entity tags of what a client has read, by path. */
export function createEtags(base: string) {
  const tags = new Map<string, string>();

  function remember(path: string, tag: string) {
    tags.delete(path);
    tags.set(path, tag);
    const [oldest] = tags.keys();
    if (tags.size > MOST && oldest !== undefined) tags.delete(oldest);
  }

  /** Returns the path of what a request reads or changes: an action (POST …/revoke) changes what stands above it. */
  function subjectOf(method: string, url: string) {
    const [path = ""] = url.slice(base.length).split("?", 1);
    return method === "POST" ? path.slice(0, path.lastIndexOf("/")) : path;
  }

  return {
    /** Returns the tag that a write must send as If-Match, where its subject was read. */
    conditionOf: (method: string, url: string) => (method === "GET" ? undefined : tags.get(subjectOf(method, url))),

    /** Takes note of an answer: a refused one changes nothing, so that a stale tag stays stale until its subject is read again. */
    note(method: string, url: string, { ok, status, headers }: Response) {
      if (!ok) return;
      const subject = status === 201 ? headers.get("location") : subjectOf(method, url);
      const tag = headers.get("etag")?.replace(/^W\//, ""); // a proxy that compresses weakens it: the version is the same
      if (subject !== null && tag !== undefined) remember(subject, tag);
      else if (method === "DELETE" && status === 204) tags.delete(subject ?? "");
    },
  };
}
