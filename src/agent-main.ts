#!/usr/bin/env bun
import { rememberHangups, runsAgent } from "#commands/agent/hangups";

if (runsAgent(process.argv[2])) rememberHangups(); // before the commands are loaded: SIGHUP would end the agent meanwhile
void import("#commands/agent-program").then(({ run }) => run(process.argv));
