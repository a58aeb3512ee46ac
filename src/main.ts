#!/usr/bin/env bun
import { rememberHangups, runsAgent } from "#commands/agent/hangups";

// Before the commands are loaded: SIGHUP would end the agent meanwhile.
if (process.argv[2] === "agent" && runsAgent(process.argv[3])) rememberHangups();
// Before Elysia is loaded: outside production it writes every refused body out, indented, which takes seconds for a hostile one.
Bun.env.NODE_ENV ??= "production";
void import("#commands/program").then(({ run }) => run(process.argv)); // no await: --bytecode knows none at the top level
