// By `require`, one after the other: packages in CommonJS that are imported are evaluated as they arrive, in any order, and the library's
// container of services needs the metadata there.
require("reflect-metadata");

/** The library that builds certificates and requests. */
export const library = require("@peculiar/x509") as typeof import("@peculiar/x509");
