/** Flags that change how Node.js talks, warns or uses memory: none loads code, opens a port, writes a file or weakens TLS. */
const HARMLESS = [
  /^--use-(openssl|system|bundled)-ca$/,
  /^--(no-)?(warnings|deprecation|pending-deprecation|trace-warnings|trace-deprecation|trace-uncaught|throw-deprecation|enable-source-maps)$/,
  /^--disable-warning=[\w-]+$/,
  /^--max-(old-space-size|semi-space-size|http-header-size)=\d{1,9}$/,
  /^--stack-trace-limit=\d{1,6}$/,
  /^--(dns-result-order)=(ipv4first|ipv6first|verbatim)$/,
  /^--unhandled-rejections=(strict|warn|none|throw|warn-with-error-codes)$/,
  /^--tls-(min-v1\.[23]|max-v1\.3)$/,
  /^--title=[\w .-]+$/,
];

/** Returns true for a flag of NODE_OPTIONS that needs no policy. */
export const isHarmlessFlag = (flag: string) => HARMLESS.some((each) => each.test(flag));
