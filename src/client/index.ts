// biome-ignore-all lint/performance/noBarrelFile: the package has one entry
export { type Data, type Item, items, RefusedError, unwrap } from "./answers.js";
export type { App } from "./app.js";
export { type Client, type ClientOptions, createClient, type Role } from "./client.js";
export { events } from "./events.js";
