const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Returns true for https, and for http that never leaves this machine. */
export function isSecureUrl(text: string) {
  const url = URL.parse(text);
  return url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
}
