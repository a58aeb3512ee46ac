/** A set of TXT records, as the API shows it: each value in its quotes. */
export type RecordSet = { ttl: string; values: string[]; isRouted: boolean };

const TTL = "60";
const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", "#34": '"', "#x22": '"' };

/** Returns what follows the beginnings of elements of a name. */
const partsOf = (xml: string, element: string) => xml.split(`<${element}>`).slice(1);

/** Returns the texts of the elements of a name that hold no others. */
const textsOf = (xml: string, element: string) => partsOf(xml, element).map((part) => fromXml(part.slice(0, part.indexOf("<"))));

const fromXml = (text: string) => text.replace(/&(#?\w{1,6});/g, (whole, name) => ENTITIES[name] ?? whole);
const toXml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Names have what is neither letter, digit, hyphen, underscore nor dot as octal numbers; a name of ours has nothing else. */
const isOf = (xml: string, element: string, name: string) => textsOf(xml, element)[0]?.toLowerCase() === `${name}.`;

/** Returns the code of an error. */
export const errorCode = (xml: string) => textsOf(xml, "Code")[0] ?? "";

/** Returns the id of the public hosted zone of a name. */
export function hostedZoneIn(xml: string, name: string) {
  const zone = partsOf(xml, "HostedZone").find((each) => isOf(each, "Name", name) && textsOf(each, "PrivateZone")[0] !== "true");
  return zone && textsOf(zone, "Id")[0]?.replace(/^\/hostedzone\//, "");
}

/** Returns the set of TXT records of a name; undefined where there is none. The API's list begins with it, or with what comes after. */
export function recordSetIn(xml: string, name: string): RecordSet | undefined {
  const [set] = partsOf(xml, "ResourceRecordSet");
  if (set === undefined || !isOf(set, "Name", name) || textsOf(set, "Type")[0] !== "TXT") return;
  return { ttl: textsOf(set, "TTL")[0] ?? TTL, values: textsOf(set, "Value"), isRouted: textsOf(set, "SetIdentifier").length > 0 };
}

/** The change of a set to other values, which fails where the set is not as it was read. */
export function changeXml(name: string, set: RecordSet | undefined, values: string[]) {
  const changes = [...(set ? [changeOf("DELETE", name, set)] : []), ...(values.length > 0 ? [changeOf("CREATE", name, { ttl: set?.ttl ?? TTL, values })] : [])];
  return `<?xml version="1.0" encoding="UTF-8"?><ChangeResourceRecordSetsRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/"><ChangeBatch><Changes>${changes.join("")}</Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`;
}

function changeOf(action: string, name: string, { ttl, values }: Pick<RecordSet, "ttl" | "values">) {
  const records = values.map((value) => `<ResourceRecord><Value>${toXml(value)}</Value></ResourceRecord>`).join("");
  return `<Change><Action>${action}</Action><ResourceRecordSet><Name>${name}.</Name><Type>TXT</Type><TTL>${toXml(ttl)}</TTL><ResourceRecords>${records}</ResourceRecords></ResourceRecordSet></Change>`;
}
