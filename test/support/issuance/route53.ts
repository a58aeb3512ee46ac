import { signatureOf } from "../server/aws-signature";
import { startTarget } from "../server/target";

export const CREDENTIALS = { accessKeyId: "AKIDEXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const XMLNS = 'xmlns="https://route53.amazonaws.com/doc/2013-04-01/"';

/** Route 53 by its API reference, with one hosted zone in memory: signatures are checked, and a batch is done as a whole or refused. */
export function startRoute53(zone: string) {
  const sets = new Map<string, string>();
  const error = (status: number, code: string) =>
    new Response(`<?xml version="1.0"?><ErrorResponse ${XMLNS}><Error><Type>Sender</Type><Code>${code}</Code><Message>m</Message></Error></ErrorResponse>`, {
      status,
    });

  function change(body: string) {
    const next = new Map(sets);
    for (const [, action, name = "", set = ""] of body.matchAll(
      /<Change><Action>(\w+)<\/Action><ResourceRecordSet><Name>([^<]*)<\/Name>(<Type>TXT<\/Type>.*?)<\/ResourceRecordSet>/g,
    )) {
      if (action === "CREATE" ? next.has(name) : next.get(name) !== set) return error(400, "InvalidChangeBatch");
      if (action === "CREATE") next.set(name, set);
      else next.delete(name);
    }
    sets.clear();
    for (const each of next) sets.set(...each);
    return new Response(
      `<ChangeResourceRecordSetsResponse ${XMLNS}><ChangeInfo><Id>/change/C1</Id><Status>PENDING</Status></ChangeInfo></ChangeResourceRecordSetsResponse>`,
    );
  }

  const target = startTarget((request, index) => {
    const url = new URL(request.url);
    const { body = "" } = target.requests[index] ?? {};
    if (request.headers.get("authorization") !== signatureOf(request, body, CREDENTIALS)) return error(403, "SignatureDoesNotMatch");
    if (url.pathname === "/2013-04-01/hostedzonesbyname") {
      const zones = [`${zone}.`, "other.test."].map(
        (name, at) => `<HostedZone><Id>/hostedzone/Z${at}</Id><Name>${name}</Name><Config><PrivateZone>false</PrivateZone></Config></HostedZone>`,
      );
      return new Response(`<ListHostedZonesByNameResponse ${XMLNS}><HostedZones>${zones.join("")}</HostedZones></ListHostedZonesByNameResponse>`);
    }
    if (request.method === "POST" && url.pathname === "/2013-04-01/hostedzone/Z0/rrset/") return change(body);
    if (url.pathname !== "/2013-04-01/hostedzone/Z0/rrset") return error(404, "NoSuchHostedZone");
    const found = [...sets].filter(([name]) => name >= (url.searchParams.get("name") ?? "")).slice(0, 1);
    const listed = found.map(([name, set]) => `<ResourceRecordSet><Name>${name}</Name>${set.replaceAll("&#34;", "&quot;")}</ResourceRecordSet>`);
    return new Response(
      `<ListResourceRecordSetsResponse ${XMLNS}><ResourceRecordSets>${listed.join("")}</ResourceRecordSets></ListResourceRecordSetsResponse>`,
    );
  });
  const valuesOf = (name: string) => [...(sets.get(`${name}.`) ?? "").matchAll(/<Value>&#34;([^<]*)&#34;<\/Value>/g)].map(([, value]) => value).toSorted();
  return { ...target, valuesOf };
}
