/** The paths of the API that are other ones in the console. */
const PAGES: [of: RegExp, page: string][] = [
  [/^certificate-requests\b/, "orders"],
  [/^issuance-policy\b/, "orders/policy"],
  [/^certs\/monitoring\/.*/, "certificates"],
  [/^ai-governance\/frameworks\/([^/]+)\/controls\//, "governance/$1/"],
  [/^ai-governance\/frameworks$/, "governance"],
  [/^ai-governance\/metric-thresholds.*/, "ai-systems"],
  [/^knowledge\/search\b/, "knowledge"],
  [/^core\/connections\b/, "connections"],
  [/^api-tokens\/.*/, "api-tokens"],
];

/** Returns the address of the page that shows what a notice is about. `link` is a path of the API: "/organizations/…/agents/…". */
export function consoleAddress(link: string) {
  const [, organizationId, path] = /^\/organizations\/([^/]+)\/(.+)$/.exec(link) ?? [];
  if (organizationId === undefined || path === undefined) return "#/";
  const [of, page] = PAGES.find(([each]) => each.test(path)) ?? [];
  return `#/o/${organizationId}/${of && page ? path.replace(of, page) : path}`;
}
