export const PATH = "/issuers";

export const acme = (rest = {}) => ({ kind: "acme", name: "Public CA", config: { directoryUrl: "https://acme.example/directory" }, ...rest });
export const authority = (rest = {}) => ({ kind: "internal", name: "Our authority", config: { authorityId: crypto.randomUUID() }, ...rest });
