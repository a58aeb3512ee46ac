const NAME = /^[a-z0-9._:-]{1,253}$/;

/** The names by which a request was asked: that of `Host`, and those of proxies that have changed it. In lower case, without ports. */
export const askedNames = (headers: Headers) =>
  [headers.get("host"), headers.get("x-forwarded-host")].flatMap((value) => (value ?? "").split(",", 10).map(nameOf)).filter((name) => NAME.test(name));

function nameOf(host: string) {
  const text = host.trim().toLowerCase();
  return (/^\[(.*)\](:\d+)?$/.exec(text)?.[1] ?? text.replace(/:\d+$/, "")).replace(/\.$/, "");
}
