import type { NewAuthority } from "../schema";
import { listFault, type NameConstraints } from "./names";
import { DEFAULT_PROFILES, type Profile, readProfiles } from "./profiles";
import { subjectFault } from "./subject";

type Field = keyof NewAuthority;
type Ways = Record<NewAuthority["kind"], { needs: Field[]; takes: Field[] }>;

/** The fields that each kind of new authority needs, and those that it may have. */
const WAYS: Ways = {
  root: { needs: ["subject"], takes: ["keyAlgorithm", "lifetimeDays", "pathLength", "nameConstraints", "profiles", "issuing"] },
  issuing: { needs: ["subject", "parentId"], takes: ["keyAlgorithm", "lifetimeDays", "pathLength", "nameConstraints", "profiles"] },
  imported: { needs: ["pem", "privateKeyPem"], takes: ["profiles"] },
  requested: { needs: ["subject"], takes: ["keyAlgorithm", "pathLength", "nameConstraints", "profiles"] },
};
const ALWAYS: Field[] = ["kind", "name", "publicUrl"];

/** Returns the missing or superfluous field of a new authority, in a sentence. */
export function shapeFault(body: NewAuthority) {
  const { needs, takes } = WAYS[body.kind];
  const missing = needs.find((each) => body[each] === undefined);
  if (missing) return `body.${missing} is required where body.kind is ${body.kind}.`;
  const foreign = (Object.keys(body) as Field[]).find((each) => body[each] !== undefined && ![...ALWAYS, ...needs, ...takes].includes(each));
  if (foreign) return `body.${foreign} is not for an authority whose body.kind is ${body.kind}.`;
  if (body.issuing && !body.issuing.subject) return "body.issuing.subject is required.";
  return subjectFault("body.subject", body.subject) ?? subjectFault("body.issuing.subject", body.issuing?.subject);
}

type SentTerms = Pick<NewAuthority, "profiles" | "nameConstraints">;
type Terms = { profiles: Profile[]; constraints: NameConstraints | undefined };

/** The profiles and constraints of a new authority with their defaults, or what is wrong with them. `at` is where they stand. */
export function readTerms(at: string, { profiles, nameConstraints }: SentTerms, defaults = DEFAULT_PROFILES): Terms | { invalid: string } {
  const read = profiles ? readProfiles(`${at}.profiles`, profiles) : { profiles: defaults };
  if ("invalid" in read) return read;
  const { permittedDomains = [], excludedDomains = [], permittedAddresses = [], excludedAddresses = [] } = nameConstraints ?? {};
  const constraints = { permittedDomains, excludedDomains, permittedAddresses, excludedAddresses };
  const invalid = listFault(`${at}.nameConstraints`, { domains: { permittedDomains, excludedDomains }, networks: { permittedAddresses, excludedAddresses } });
  if (invalid) return { invalid };
  return { ...read, constraints: Object.values(constraints).some((each) => each.length > 0) ? constraints : undefined };
}
