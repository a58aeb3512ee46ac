type Library = typeof import("@peculiar/x509");

let loaded: Library | undefined;

/** Returns the library that builds certificates and requests; loads it at the first call, because that takes a seventh of a start. */
export function library(): Library {
  if (!loaded) {
    // One after the other: packages in CommonJS that are imported are evaluated in any order, and the library needs the metadata there.
    require("reflect-metadata");
    loaded = require("@peculiar/x509") as Library;
  }
  return loaded;
}
