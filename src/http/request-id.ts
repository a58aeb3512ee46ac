const SANE = /^[\w.:-]{1,100}$/;
const ids = new WeakMap<Request, string>();

/** The caller's own `x-request-id` if it is sane, else a new one; the same one however often it is asked for. */
export function requestId(request: Request) {
  const known = ids.get(request);
  if (known) return known;
  const given = request.headers.get("x-request-id");
  const id = given && SANE.test(given) ? given : crypto.randomUUID();
  ids.set(request, id);
  return id;
}
