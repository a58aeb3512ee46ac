// The page's own script, for browsers: who calls, and the operations that are looked for.
const KEY = "certitude.caller";
const BASE = location.href.replace(/\/swagger\/?([?#].*)?$/, "");
/** What the page has for a filter while nothing is looked for. */
const NO_SEARCH = ["", "true", "false", true, false, null, undefined];
const form = document.querySelector("#caller");
const said = document.querySelector("#said");

/** In the session of this tab alone: it survives a reload, and ends with the tab. */
const readCaller = () => JSON.parse(sessionStorage.getItem(KEY) ?? "{}");

/** Filters operations by all the words that are typed: in the path, method, name, summary and group. */
const search = {
  fn: {
    opsFilter(groups, phrase) {
      const words = phrase.toLowerCase().split(/\s+/);
      const isMeant = (operation, group) => {
        const about = ["operationId", "summary"].map((name) => operation.getIn(["operation", name]));
        const text = [group, operation.get("method"), operation.get("path"), ...about].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      };
      const left = groups.map((group, name) => group.update("operations", (operations) => operations.filter((each) => isMeant(each, name))));
      return left.filter((group) => group.get("operations").size > 0);
    },
  },
  statePlugins: {
    layout: {
      wrapSelectors: {
        // What is found is shown without opening its group first.
        isShown:
          (original, { layoutSelectors }) =>
          (_state, thing, byDefault) =>
            (thing?.[0] === "operations-tag" && !NO_SEARCH.includes(layoutSelectors.currentFilter())) || original(thing, byDefault),
      },
    },
  },
};

/** Calls go where the page came from, also behind a path prefix; their forms have the caller's organization and role in them. */
function adapt(openapi, { organizationId, role = "ORG_ADMIN" }) {
  const filled = { organizationId, "x-organization-id": organizationId, "x-organization-role": role };
  for (const operation of Object.values(openapi.paths).flatMap(Object.values))
    for (const parameter of operation.parameters ?? []) if (filled[parameter.name]) parameter.example = filled[parameter.name];
  return { ...openapi, servers: [{ url: BASE }] };
}

async function show() {
  const caller = readCaller();
  for (const name of ["token", "organizationId", "role"]) form.elements[name].value = caller[name] ?? (name === "role" ? "ORG_ADMIN" : "");
  const openapi = await (await fetch(`${BASE}/swagger/json`)).json();
  const ui = SwaggerUIBundle({
    spec: adapt(openapi, caller),
    dom_id: "#page",
    validatorUrl: "none", // or it would send the document to a public one
    displayRequestDuration: true,
    docExpansion: "none",
    filter: true,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    plugins: [search],
    onComplete() {
      const { token, organizationId, role } = caller;
      if (token) ui.preauthorizeApiKey(token.startsWith("cat_") ? "apiToken" : "userToken", token);
      if (organizationId) ui.preauthorizeApiKey("organizationId", organizationId);
      if (organizationId) ui.preauthorizeApiKey("organizationRole", role);
      document.querySelector(".operation-filter-input")?.setAttribute("placeholder", "Filter operations: words of path, name or summary");
    },
  });
}

/** The user's organizations, the token being theirs; undefined when the server refuses it. */
async function listMemberships(token) {
  const answer = await fetch(`${BASE}/users/me`, { headers: { authorization: `Bearer ${token}` } });
  return answer.ok ? (await answer.json()).memberships : undefined;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const caller = Object.fromEntries(new FormData(form));
  said.value = "";
  if (caller.token && !caller.token.startsWith("cat_")) {
    const memberships = await listMemberships(caller.token);
    if (!memberships) {
      said.value = "The server refuses this token: it is not one of a user's, or it has ended.";
      return;
    }
    const choices = memberships.map(({ organizationId, organizationName }) => new Option(organizationName, organizationId));
    document.querySelector("#organizations").replaceChildren(...choices);
    const chosen = memberships.find(({ organizationId }) => !caller.organizationId || organizationId === caller.organizationId.toLowerCase());
    if (!caller.organizationId && chosen) Object.assign(caller, { organizationId: chosen.organizationId, role: chosen.role });
  }
  sessionStorage.setItem(KEY, JSON.stringify(caller));
  await show();
  said.value = "Calls are made as this until the tab is closed.";
});

form.addEventListener("reset", (event) => {
  event.preventDefault();
  sessionStorage.removeItem(KEY);
  said.value = "";
  show();
});

show();
