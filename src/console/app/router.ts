import { computed, signal } from "@preact/signals";

/** A place in the console: `#/o/{organizationId}/{path}?{query}`; some pages belong to no organization. */
type ConsolePlace = { organizationId: string | undefined; path: string; query: URLSearchParams };

export function parsePlace(fragment: string): ConsolePlace {
  const [whole = "", search = ""] = fragment.replace(/^#\/?/, "").split("?");
  const query = new URLSearchParams(search);
  const [first, organizationId, ...rest] = whole.split("/");
  return first === "o" && organizationId
    ? { organizationId: decode(organizationId), path: rest.join("/"), query }
    : { organizationId: undefined, path: whole, query };
}

const fragment = signal(location.hash);
addEventListener("hashchange", () => {
  fragment.value = location.hash;
});

export const place = computed(() => parsePlace(fragment.value));

/** Returns the parameters of `path` if `pattern` ("certificates/:id") matches it. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":") && value !== "") params[part.slice(1)] = decode(value);
    else if (part !== value) return;
  }
  return params;
}

function decode(text: string) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a page of the organization that is shown. */
export const link = (path: string, query: Record<string, string> = {}) => {
  const search = new URLSearchParams(query).toString();
  return `#/o/${place.value.organizationId ?? ""}/${path}${search && `?${search}`}`;
};

export const go = (address: string) => {
  location.hash = address;
};

/** Puts filters into the address without a new entry in the history. Empty values are left out. */
export function setQuery(changes: Record<string, string>) {
  const { organizationId, path, query } = place.value;
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  const search = next.toString();
  history.replaceState(null, "", `#/${organizationId === undefined ? "" : `o/${organizationId}/`}${path}${search && `?${search}`}`);
  fragment.value = location.hash;
}
