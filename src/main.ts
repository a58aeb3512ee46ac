#!/usr/bin/env bun
// Before Elysia is loaded: outside production it writes every refused body out, indented, which takes seconds for a hostile one.
Bun.env.NODE_ENV ??= "production";
const { run } = await import("#commands/program");

await run(process.argv);

export {};
