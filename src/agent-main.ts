#!/usr/bin/env bun
import { rememberHangups } from "#commands/agent/hangups";

rememberHangups(); // before the commands are loaded: SIGHUP would end the agent meanwhile
void import("#commands/agent-program").then(({ run }) => run(process.argv));
